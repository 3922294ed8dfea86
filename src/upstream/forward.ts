/**
 * What enters: a request a door has judged. What leaves: the answer of the server behind it, on its way through. The
 * path sent is the path judged, byte for byte; who is asking is told by Cardea alone.
 */
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import type { Exchange, Reply } from '../door/exchange.ts'
import { Answer } from './answer.ts'
import { isDisconnected, isUnconnected, toUpstreamRefusal } from './failures.ts'
import type { Group, Member } from './group.ts'
import { type Introduce, UNKNOWN } from './identity.ts'
import type { OpenStreams } from './open-streams.ts'
import { createLivePools, type Pools, type PoolsSettings } from './pools.ts'
import { addForwarded, createRequestFilter } from './request-headers.ts'
import { filterAnswerHeaders } from './response-headers.ts'
import { createSpool, type SpoolLimits, type SpoolShare } from './spool.ts'

export interface ForwardSettings extends PoolsSettings {
  /** Longest silence within an answer that is no feed; 0: any. */
  readonly idleTimeoutMs: number
  /** How bodies in pieces are put together for a server which takes none in pieces; `undefined`: it does. */
  readonly spool: SpoolLimits | undefined
  /** Whether cross-origin headers are Cardea's to give. */
  readonly ownsCors: boolean
}

export interface ForwardNeeds {
  settings(): ForwardSettings
  /** Headers of the deployment's own naming that nobody but Cardea may set. */
  readonly identityHeaders: readonly string[]
  readonly requestIdHeader: string
  readonly sessionCookie: string
  readonly introduce: Introduce
  /** Whether the answer may go on for ever, and be silent for any time. */
  isFeed(exchange: Exchange): boolean
  readonly streams: OpenStreams
  stillHolds(exchange: Exchange): Promise<boolean>
  /** How much had ended when it was looked who is asking. */
  judgedAt(exchange: Exchange): number
  readonly clock: Clock
}

export interface Upstream {
  /** Whether there is one. */
  isSet(): boolean
  forward(exchange: Exchange): Promise<Reply>
  /** Whether any of the servers answers this. */
  isHealthy(path: string): Promise<boolean>
  close(): Promise<void>
}

export function createUpstream(needs: ForwardNeeds): Upstream {
  const pools = createLivePools(needs.settings, needs.clock)
  const filter = createRequestFilter({
    identityHeaders: [...needs.identityHeaders, needs.requestIdHeader],
    sessionCookie: needs.sessionCookie,
  })
  const openShare = createSpool()
  const prepare = (exchange: Exchange, spooled: Spooled): Order => {
    const { headers, keepsAuthorization } = needs.introduce(exchange.authenticated ?? UNKNOWN)
    const sent = filter(exchange.rawHeaders, { keepsAuthorization })
    addForwarded(sent, exchange.client)
    sent.push(needs.requestIdHeader, exchange.id, ...headers)
    return { exchange, headers: sent, isFeed: needs.isFeed(exchange), ...spooled }
  }
  return {
    isSet: () => needs.settings().urls.length > 0,
    async forward(exchange) {
      if (!exchange.target.startsWith('/')) throw new Refusal('invalid_target')
      const { spool } = needs.settings()
      if (spool === undefined || exchange.header('transfer-encoding') === undefined) {
        return askAround(prepare(exchange, {}), pools.get(), needs)
      }
      const share = openShare(spool.totalBytes)
      try {
        const spooled = await gather(exchange, spool, share)
        return await askAround(prepare(exchange, { spooled }), pools.get(), needs)
      } finally {
        share.release()
      }
    },
    isHealthy: (path) => isAnyHealthy(pools.get(), path),
    close: pools.close,
  }
}

/** A request as it is sent, to one server after another if need be. */
interface Order {
  readonly exchange: Exchange
  readonly headers: readonly string[]
  readonly isFeed: boolean
  /** A body put together. Without it the body is passed on as it comes. */
  readonly spooled?: Buffer
}

type Spooled = Pick<Order, 'spooled'>

async function gather(exchange: Exchange, limits: SpoolLimits, { take }: SpoolShare): Promise<Buffer> {
  // one that would not fit alone will not fit later either
  const most = Math.min(limits.bodyBytes, limits.totalBytes)
  return (await exchange.gatherBody(most, take)) ?? Buffer.alloc(0)
}

const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

async function askAround(order: Order, group: Group<Pools>, needs: ForwardNeeds): Promise<Reply> {
  const tried = new Set<Member<Pools>>()
  let failure: Refusal | undefined
  let repeats = 0
  for (;;) {
    const member = group.choose(tried)
    if (member === undefined) throw failure ?? group.refuse()
    const outcome = await askOne(order, member, needs)
    if (outcome.kind === 'reply') {
      if (member.failures > 0) group.revive(member)
      return outcome.reply
    }
    const { error } = outcome
    if (isUnconnected(error)) group.rest(member)
    failure = toUpstreamRefusal(error, group.refuse)
    const isSafe = isUnconnected(error) || (isDisconnected(error) && isRepeatable(order, outcome))
    if (!isSafe || order.exchange.signal.aborted) throw failure
    // a connection kept alive may be closed by the other end just now: a fresh one of the same server will do
    if (isUnconnected(error) || repeats > 0 || group.members.length > 1) tried.add(member)
    repeats += 1
  }
}

type Outcome =
  | { readonly kind: 'reply'; readonly reply: Reply }
  | { readonly kind: 'failed'; readonly error: Error; readonly hasBegun: boolean; readonly hasSent: boolean }

const isRepeatable = ({ exchange }: Order, outcome: Extract<Outcome, { kind: 'failed' }>): boolean =>
  IDEMPOTENT.has(exchange.method) && !outcome.hasBegun && !outcome.hasSent

function askOne(order: Order, member: Member<Pools>, needs: ForwardNeeds): Promise<Outcome> {
  const { exchange, isFeed } = order
  const { idleTimeoutMs, ownsCors } = needs.settings()
  const stream = order.spooled === undefined ? exchange.openBody() : undefined
  const authenticated = exchange.authenticated ?? UNKNOWN
  member.open += 1
  return new Promise((resolve) => {
    let wasCut = false
    const answer = new Answer({
      isFeed,
      idleMs: idleTimeoutMs,
      onHead: ({ status, headers }, body) => {
        const kept = filterAnswerHeaders(headers, status, { ownsCors, sessionCookie: needs.sessionCookie })
        resolve({ kind: 'reply', reply: { status, headers: kept, body, isForwarded: true } })
      },
      onFailure: (error, { hasBegun }) => {
        const told = wasCut ? new Refusal('authentication_required') : error
        resolve({ kind: 'failed', error: told, hasBegun, hasSent: stream?.readableDidRead ?? false })
      },
      onClose: () => {
        member.open -= 1
        takeOff()
      },
    })
    const cut = () => {
      wasCut = true
      answer.cut()
    }
    const takeOff = needs.streams.add({
      authenticated,
      since: needs.judgedAt(exchange),
      stillHolds: () => needs.stillHolds(exchange),
      cut,
    })
    exchange.signal.addEventListener('abort', () => answer.drop(), { once: true })
    dispatch(order, member.pool, stream, answer)
  })
}

function dispatch(
  { exchange, headers, isFeed, spooled }: Order,
  pool: Pools,
  stream: Readable | undefined,
  to: Answer,
) {
  const length = stream === undefined ? undefined : exchange.header('content-length')
  const options = {
    // undici takes any token; its type lists the common ones
    method: exchange.method as Dispatcher.HttpMethod,
    path: exchange.target,
    headers: length === undefined ? [...headers] : [...headers, 'Content-Length', length],
    body: spooled ?? stream ?? null,
    // not in its types: without it the name of the certificate would be the client's Host
    servername: pool.servername,
  }
  const chosen = isFeed ? pool.feeds : pool.requests
  chosen.dispatch(options, to)
}

const HEALTH_MS = 5000

async function isAnyHealthy(group: Group<Pools>, path: string): Promise<boolean> {
  const asks = group.members.map(async ({ pool }) => {
    const answer = await pool.requests.request({ method: 'GET', path, signal: AbortSignal.timeout(HEALTH_MS) })
    await answer.body.dump()
    if (answer.statusCode >= 500) throw new Error('not healthy')
  })
  return Promise.any(asks).then(
    () => true,
    () => false,
  )
}
