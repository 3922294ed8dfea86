/** `_changes`: the changes since a sequence and, while the client stays connected, later ones. */
import { Refusal } from '../../../base/errors.ts'
import { ANONYMOUS } from '../../../directory/identity.ts'
import type { Feed, Reply, RequestContext } from '../../../http/request-context.ts'
import { type Batch, type Cursor, createCursor } from './changes-cursor.ts'
import { FEED_FORMATS, type FeedFormat, renderRows } from './changes-format.ts'
import { readChangesQuery } from './changes-query.ts'
import { ChangesWait, type WaitOptions } from './changes-wait.ts'
import type { UsersDeps } from './deps.ts'
import { renderSequence } from './user-changes.ts'

interface FeedOptions extends WaitOptions {
  readonly deps: UsersDeps
  readonly cursor: Cursor
  readonly format: FeedFormat
  readonly hasDocs: boolean
  /** Whether the feed may wait for changes at all. */
  readonly canWait: boolean
}

export async function getChanges(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  const query = await readChangesQuery(context, deps)
  const authenticated = context.authenticated ?? ANONYMOUS
  const cursor = createCursor({ deps, query, reader: authenticated.identity })
  const format = FEED_FORMATS[query.feed]
  // read before the reply starts, so that an error here still becomes an error reply
  const first = await cursor.next()
  const canWait = format.waits !== 'never' && !query.isDescending
  const feed = { ...query, deps, authenticated, cursor, format, canWait, signal: context.signal }
  return { status: 200, headers: format.headers, body: streamFeed(feed, first) }
}

async function* streamFeed(feed: FeedOptions, first: Batch): Feed {
  const { deps, cursor, format, signal } = feed
  const wait = new ChangesWait(deps, feed)
  try {
    if (format.head !== '') yield format.head
    yield* streamRows(feed, first, wait)
    if (signal.aborted) return
    yield format.renderTail(renderSequence(cursor.position(), deps.uuid()), await cursor.countPending())
  } finally {
    wait.close()
  }
}

async function* streamRows(feed: FeedOptions, first: Batch, wait: ChangesWait): Feed {
  const { deps, cursor, format, hasDocs, canWait } = feed
  let isFirst = true
  for (let batch = first; ; batch = await cursor.next()) {
    if (batch.rows.length > 0) {
      yield renderRows(format, batch.rows, { hasDocs, uuid: deps.uuid(), isFirst })
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
