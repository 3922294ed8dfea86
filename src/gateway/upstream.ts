/**
 * What enters: a request a door has judged. What leaves: the answer of the server behind it, on its way through. The
 * path sent is the path judged, byte for byte; who is asking is told by Cardea alone.
 */
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { deriveLive } from '../base/live.ts'
import { ANONYMOUS } from '../directory/identity.ts'
import type { Reply, RequestContext } from '../http/request-context.ts'
import { askAround, type RoundDeps } from './failover.ts'
import { readWholeResponse } from './gather-answer.ts'
import { checkHealth, type UpstreamHealth } from './health.ts'
import { createIdentityCheck, type IdentityProbe } from './identity-check.ts'
import type { ToIdentityHeaders } from './identity-headers.ts'
import type { OpenStreams } from './open-streams.ts'
import { createLivePools, type PoolsSettings } from './pools.ts'
import { addForwarded, createRequestFilter } from './request-headers.ts'
import { createSpool, type SpoolLimits, type SpoolShare } from './spool.ts'
import type { UpstreamWatch } from './watch.ts'

export interface UpstreamSettings extends PoolsSettings {
  /** Longest silence within an answer that is no feed; 0: any. */
  readonly idleTimeoutMs: number
  /** How bodies in pieces are put together for a server which takes none in pieces; `undefined`: it does. */
  readonly spool: SpoolLimits | undefined
  /** Whether cross-origin headers are Cardea's to give. */
  readonly ownsCors: boolean
}

export interface UpstreamDeps {
  settings(): UpstreamSettings
  /** Headers of the deployment's own naming that nobody but Cardea may set: the same list as long as nothing changes. */
  identityHeaderNames(): readonly string[]
  readonly requestIdHeader: string
  readonly ownCookies: readonly string[]
  readonly toIdentityHeaders: ToIdentityHeaders
  /** Whether the answer may go on for ever, and be silent for any time. */
  isFeed(context: RequestContext): boolean
  /** Whether pages in the response are kept apart from Cardea's own. */
  isolates(context: RequestContext): boolean
  readonly streams: OpenStreams
  revalidate(context: RequestContext): Promise<boolean>
  /** Shows whether the identities that are signed are accepted. Left out where the server does not tell. */
  readonly probe?: IdentityProbe
  readonly watch: UpstreamWatch
  readonly clock: Clock
}

export interface Upstream {
  /** Whether there is one. */
  isSet(): boolean
  forward(context: RequestContext): Promise<Reply>
  /**
   * The same with the whole response in memory, in no coding. One that is larger, or breaks off, is `upstream_failed`.
   * `body` takes the place of the request's own.
   */
  forwardWhole(context: RequestContext, maxBytes: number, body?: Buffer): Promise<Reply>
  /** How the servers answer this path: as the healthiest of them does. */
  checkHealth(path: string): Promise<UpstreamHealth>
  close(): Promise<void>
}

export function createUpstream(deps: UpstreamDeps): Upstream {
  const pools = createLivePools(deps.settings, deps.clock)
  const filters = deriveLive({ get: deps.identityHeaderNames }, (names) =>
    createRequestFilter({ identityHeaderNames: [...names, deps.requestIdHeader], ownCookies: deps.ownCookies }),
  )
  const openShare = createSpool()
  const checkIdentity = deps.probe && createIdentityCheck(deps.probe, deps.clock)
  const round: RoundDeps = { ...deps, checkIdentity }
  const forward = (context: RequestContext, spooled: Buffer | undefined, isWhole = false): Promise<Reply> => {
    const { headers, keepsAuthorization } = deps.toIdentityHeaders(context.authenticated ?? ANONYMOUS)
    const filter = filters.get()
    const passed = filter(context.rawHeaders, keepsAuthorization)
    const sent = isWhole ? withoutSelection(passed) : passed
    addForwarded(sent, context.client)
    sent.push(deps.requestIdHeader, context.id)
    for (const part of headers) sent.push(part)
    const isSigned = headers.length > 0 && !keepsAuthorization
    const order = { context, headers: sent, isFeed: deps.isFeed(context), isSigned, spooled, filter }
    return askAround(order, pools.get(), round)
  }
  const forwardSpooled = async (context: RequestContext, spool: SpoolLimits): Promise<Reply> => {
    const share = openShare(spool.totalBytes)
    try {
      return await forward(context, await gather(context, spool, share))
    } finally {
      share.release()
    }
  }
  return {
    isSet: () => deps.settings().urls.length > 0,
    forward(context) {
      if (!context.target.startsWith('/')) throw new Refusal('invalid_target')
      const { spool } = deps.settings()
      const isWhole = spool === undefined || context.header('transfer-encoding') === undefined
      return isWhole ? forward(context, undefined) : forwardSpooled(context, spool)
    },
    async forwardWhole(context, maxBytes, body) {
      if (!context.target.startsWith('/')) throw new Refusal('invalid_target')
      return readWholeResponse(await forward(context, body, true), maxBytes)
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

async function gather(context: RequestContext, limits: SpoolLimits, { take }: SpoolShare): Promise<Buffer> {
  // one that would not fit alone will not fit later either
  const most = Math.min(limits.bodyBytes, limits.totalBytes)
  return (await context.gatherBody(most, take)) ?? Buffer.alloc(0)
}
