/**
 * What enters: a request a door has judged. What leaves: the answer of the server behind it, on its way through. The
 * path sent is the path judged, byte for byte; who is asking is told by Cardea alone.
 */
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { deriveLive } from '../base/live.ts'
import type { Exchange, Reply } from '../http/request-context.ts'
import { askAround, type RoundNeeds } from './failover.ts'
import { gatherAnswer } from './gather-answer.ts'
import { checkHealth, type UpstreamHealth } from './health.ts'
import { createIdentityCheck, type IdentityProbe } from './identity-check.ts'
import { type Introduce, UNKNOWN } from './identity-headers.ts'
import type { OpenStreams } from './open-streams.ts'
import { createLivePools, type PoolsSettings } from './pools.ts'
import { addForwarded, createRequestFilter } from './request-headers.ts'
import { createSpool, type SpoolLimits, type SpoolShare } from './spool.ts'
import type { UpstreamWatch } from './watch.ts'

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
  /** Headers of the deployment's own naming that nobody but Cardea may set: the same list as long as nothing changes. */
  identityHeaders(): readonly string[]
  readonly requestIdHeader: string
  readonly ownCookies: readonly string[]
  readonly introduce: Introduce
  /** Whether the answer may go on for ever, and be silent for any time. */
  isFeed(exchange: Exchange): boolean
  /** Whether pages in the response are kept apart from Cardea's own. */
  isolates(exchange: Exchange): boolean
  readonly streams: OpenStreams
  stillHolds(exchange: Exchange): Promise<boolean>
  /** Shows whether the identities that are signed are accepted. Left out where the server does not tell. */
  readonly probe?: IdentityProbe
  readonly watch: UpstreamWatch
  readonly clock: Clock
}

export interface Upstream {
  /** Whether there is one. */
  isSet(): boolean
  forward(exchange: Exchange): Promise<Reply>
  /**
   * The same with the whole response in memory, in no coding. One that is larger, or breaks off, is `upstream_failed`.
   * `body` takes the place of the request's own.
   */
  forwardWhole(exchange: Exchange, maxBytes: number, body?: Buffer): Promise<Reply>
  /** How the servers answer this path: as the healthiest of them does. */
  checkHealth(path: string): Promise<UpstreamHealth>
  close(): Promise<void>
}

export function createUpstream(needs: ForwardNeeds): Upstream {
  const pools = createLivePools(needs.settings, needs.clock)
  const filters = deriveLive({ get: needs.identityHeaders }, (names) =>
    createRequestFilter({ identityHeaders: [...names, needs.requestIdHeader], ownCookies: needs.ownCookies }),
  )
  const openShare = createSpool()
  const checkIdentity = needs.probe && createIdentityCheck(needs.probe, needs.clock)
  const round: RoundNeeds = { ...needs, checkIdentity }
  const forward = (exchange: Exchange, spooled: Buffer | undefined, isWhole = false): Promise<Reply> => {
    const { headers, keepsAuthorization } = needs.introduce(exchange.authenticated ?? UNKNOWN)
    const filter = filters.get()
    const passed = filter(exchange.rawHeaders, keepsAuthorization)
    const sent = isWhole ? withoutSelection(passed) : passed
    addForwarded(sent, exchange.client)
    sent.push(needs.requestIdHeader, exchange.id)
    for (const part of headers) sent.push(part)
    const isSigned = headers.length > 0 && !keepsAuthorization
    const order = { exchange, headers: sent, isFeed: needs.isFeed(exchange), isSigned, spooled, filter }
    return askAround(order, pools.get(), round)
  }
  const forwardSpooled = async (exchange: Exchange, spool: SpoolLimits): Promise<Reply> => {
    const share = openShare(spool.totalBytes)
    try {
      return await forward(exchange, await gather(exchange, spool, share))
    } finally {
      share.release()
    }
  }
  return {
    isSet: () => needs.settings().urls.length > 0,
    forward(exchange) {
      if (!exchange.target.startsWith('/')) throw new Refusal('invalid_target')
      const { spool } = needs.settings()
      const isWhole = spool === undefined || exchange.header('transfer-encoding') === undefined
      return isWhole ? forward(exchange, undefined) : forwardSpooled(exchange, spool)
    },
    async forwardWhole(exchange, maxBytes, body) {
      if (!exchange.target.startsWith('/')) throw new Refusal('invalid_target')
      return gatherAnswer(await forward(exchange, body, true), maxBytes)
    },
    checkHealth: (path) => checkHealth(pools.get(), path),
    close: pools.close,
  }
}

/** What asks for a coding, a part or a comparison of the response. */
const SELECTING = /^(?:accept-encoding|range|te|if-.*)$/i

function withoutSelection(headers: readonly string[]): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const [name = '', value = ''] = [headers[i], headers[i + 1]]
    if (!SELECTING.test(name)) kept.push(name, value)
  }
  return kept
}

async function gather(exchange: Exchange, limits: SpoolLimits, { take }: SpoolShare): Promise<Buffer> {
  // one that would not fit alone will not fit later either
  const most = Math.min(limits.bodyBytes, limits.totalBytes)
  return (await exchange.gatherBody(most, take)) ?? Buffer.alloc(0)
}
