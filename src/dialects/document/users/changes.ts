/** `_changes`: the changes since a sequence and, while the client stays connected, later ones. */

import type { Clock } from '../../../base/clock.ts'
import { Refusal } from '../../../base/errors.ts'
import { createWakeableSleep } from '../../../base/sleep.ts'
import { ANONYMOUS, expiryOf, identityOf } from '../../../directory/identity.ts'
import type { Feed, HeaderPair, Reply, RequestContext } from '../../../http/request-context.ts'
import { JSON_HEADERS } from '../body.ts'
import type { CredentialWatch, UsersDeps } from '../deps.ts'
import { type Batch, type ChangeRow, type Cursor, createCursor } from './changes-cursor.ts'
import { type ChangesQuery, type FeedKind, readChangesQuery } from './changes-query.ts'
import { renderDocument } from './document.ts'
import { renderSequence, toSequenceText } from './user-changes.ts'

/** How each kind of feed is rendered. */
interface FeedFormat {
  readonly headers: readonly HeaderPair[]
  readonly head: string
  renderRow(json: string, sequence: string, isFirst: boolean): string
  readonly heartbeat: string
  renderTail(lastSequence: string, pending: number): string
  /** Whether the feed waits for changes. `once`: it ends with the first. */
  readonly waits: 'never' | 'once' | 'always'
}

const LIST = {
  headers: JSON_HEADERS,
  head: '{"results":[\n',
  renderRow: (json: string, _sequence: string, isFirst: boolean) => `${isFirst ? '' : ',\n'}${json}`,
  heartbeat: '\n',
  renderTail: (lastSequence: string, pending: number) => `\n],\n"last_seq":${lastSequence},"pending":${pending}}\n\n`,
}

const FEED_FORMATS: Readonly<Record<FeedKind, FeedFormat>> = {
  normal: { ...LIST, waits: 'never' },
  longpoll: { ...LIST, waits: 'once' },
  continuous: {
    headers: JSON_HEADERS,
    head: '',
    renderRow: (json) => `${json}\n`,
    heartbeat: '\n',
    renderTail: (lastSequence, pending) => `{"last_seq":${lastSequence},"pending":${pending}}\n`,
    waits: 'always',
  },
  eventsource: {
    headers: [
      ['Cache-Control', 'no-cache'],
      ['Content-Type', 'text/event-stream'],
    ],
    head: '',
    renderRow: (json, sequence) => `data: ${json}\nid: ${sequence}\n\n`,
    heartbeat: 'event: heartbeat\ndata: \n\n',
    renderTail: () => '',
    waits: 'always',
  },
}

interface FeedOptions {
  readonly signal: AbortSignal
  readonly wait: ChangesWait
  readonly cursor: Cursor
  readonly format: FeedFormat
  readonly hasDocs: boolean
  /** Whether the feed may wait for changes at all. */
  readonly canWait: boolean
}

export async function getChanges(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  const query = await readChangesQuery(context, deps)
  const wait = new ChangesWait(deps, context, query)
  const cursor = createCursor({ deps, query, reader: identityOf(context) })
  const format = FEED_FORMATS[query.feed]
  // read before the reply starts, so that an error here still becomes an error reply
  const first = await cursor.next()
  await wait.requireCredential()
  const canWait = format.waits !== 'never' && !query.isDescending
  const feed = { ...query, wait, cursor, format, canWait, signal: context.signal }
  return { status: 200, headers: format.headers, body: streamFeed(feed, first) }
}

async function* streamFeed(feed: FeedOptions, first: Batch): Feed {
  const { cursor, format, signal } = feed
  if (format.head !== '') yield format.head
  yield* streamRows(feed, first)
  if (signal.aborted) return
  yield format.renderTail(renderSequence(cursor.position()), await cursor.countPending())
}

async function* streamRows(feed: FeedOptions, first: Batch): Feed {
  const { cursor, format, canWait, wait } = feed
  let isFirst = true
  for (let batch = first; ; batch = await cursor.next()) {
    if (batch.rows.length > 0) {
      await wait.requireCredential()
      yield renderRows(feed, batch.rows, isFirst)
      isFirst = false
      wait.restart()
    }
    if (!batch.isEnd) continue
    const isDone = !canWait || cursor.isFull() || (format.waits === 'once' && !isFirst)
    if (isDone || !(yield* waitForChanges(format, wait))) return
  }
}

/** Sends heartbeats meanwhile. Returns whether the feed goes on. */
async function* waitForChanges(format: FeedFormat, wait: ChangesWait): AsyncGenerator<string, boolean> {
  for (;;) {
    const result = await wait.next()
    if (result === 'changes') return true
    if (result === 'timeout' || result === 'disconnected') return false
    // ends the connection without the end of the body: the client sees an incomplete feed and authenticates again
    if (result === 'revoked') throw new Refusal('authentication_required')
    yield format.heartbeat
  }
}

/** `isFirst`: whether the first of the rows is the first of the feed. */
function renderRows({ format, hasDocs }: FeedOptions, rows: readonly ChangeRow[], isFirst: boolean): string {
  const texts = rows.map((row, index) =>
    format.renderRow(renderRow(row, hasDocs), toSequenceText(row.position), isFirst && index === 0),
  )
  return texts.join('')
}

function renderRow({ position, document }: ChangeRow, hasDocs: boolean): string {
  const { id, revision, isDeleted } = document
  const parts = [
    `"seq":${renderSequence(position)}`,
    `"id":${JSON.stringify(id)}`,
    `"changes":[{"rev":"${revision}"}]`,
    ...(isDeleted ? ['"deleted":true'] : []),
    ...(hasDocs ? [`"doc":${renderDocument(document)}`] : []),
  ]
  return `{${parts.join(',')}}`
}

/** Why a wait ended. `revoked`: the credential of the request has expired or was revoked. */
type WaitResult = 'changes' | 'heartbeat' | 'timeout' | 'disconnected' | 'revoked'

/** The store is polled this often, because its notifications can get lost. */
const POLL_MS = 1000

/** Waits for the next reason to continue a feed. */
class ChangesWait {
  readonly #sleep = createWakeableSleep()
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #expiresMs: number
  readonly #heartbeatMs: number
  readonly #timeoutMs: number
  readonly #credential: CredentialWatch
  // a change may have come before the listener was added
  #mayHaveChanges = true
  #isRevoked = false
  #heartbeatAt = 0
  #timeoutAt = 0

  /** To be made before anything is read: whatever ends the credential from then on ends the feed. */
  constructor({ changes, watchCredential, clock }: UsersDeps, context: RequestContext, query: ChangesQuery) {
    const { heartbeatMs, timeoutMs } = query
    this.#clock = clock
    this.#signal = context.signal
    this.#expiresMs = 1000 * expiryOf(context.authenticated ?? ANONYMOUS)
    this.#heartbeatMs = heartbeatMs ?? Number.POSITIVE_INFINITY
    this.#timeoutMs = heartbeatMs === undefined ? timeoutMs : Number.POSITIVE_INFINITY
    this.#credential = watchCredential(context, () => this.#onRevoked())
    const removeListener = changes.onWake(() => this.#onChange())
    this.#signal.addEventListener('abort', this.#sleep.wake)
    context.onGone(() => {
      this.#signal.removeEventListener('abort', this.#sleep.wake)
      this.#credential.close()
      removeListener()
    })
    this.restart()
  }

  async next(): Promise<WaitResult> {
    this.#sleep.beginWork()
    const result = this.#check()
    if (result) return result
    const untilDue = Math.min(this.#heartbeatAt, this.#timeoutAt) - performance.now()
    await this.#sleep.sleep(Math.min(POLL_MS, Math.max(0, untilDue)))
    return this.#check() ?? 'changes'
  }

  /** Changes were sent: heartbeat and timeout count from now. */
  restart(): void {
    const now = performance.now()
    this.#heartbeatAt = now + this.#heartbeatMs
    this.#timeoutAt = now + this.#timeoutMs
  }

  /** Throws if the credential of the request has ended. */
  async requireCredential(): Promise<void> {
    if (!(await this.#credential.isValid())) throw new Refusal('authentication_required')
  }

  #check(): WaitResult | undefined {
    if (this.#signal.aborted) return 'disconnected'
    if (this.#isRevoked || this.#clock.nowMs() >= this.#expiresMs) return 'revoked'
    if (this.#mayHaveChanges) {
      this.#mayHaveChanges = false
      return 'changes'
    }
    const now = performance.now()
    if (now >= this.#timeoutAt) return 'timeout'
    if (now < this.#heartbeatAt) return undefined
    this.#heartbeatAt = now + this.#heartbeatMs
    return 'heartbeat'
  }

  #onChange(): void {
    this.#mayHaveChanges = true
    this.#sleep.wake()
  }

  #onRevoked(): void {
    this.#isRevoked = true
    this.#sleep.wake()
  }
}
