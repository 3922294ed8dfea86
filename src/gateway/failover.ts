import { codeOf, Refusal } from '../base/errors.ts'
import { isResponseStream } from '../http/reply.ts'
import type { Reply } from '../http/request-context.ts'
import type { UpstreamBalancer, UpstreamServer } from './connections.ts'
import type { UpstreamWatch } from './health.ts'
import type { CheckIdentity } from './identity-probe.ts'
import { isDisconnected, isNotHttp, isTimeout, isUnconnected, toUpstreamRefusal } from './upstream-errors.ts'
import { type Failure, type SendDeps, sendRequest, toOutcome, type UpstreamRequest } from './upstream-request.ts'

/**
 * Sends the request to one server after another, as long as repeating it is safe. `checkIdentity` is left out for
 * servers that do not show whether they accept the identities that Cardea signs.
 */
export async function sendWithFailover(
  request: UpstreamRequest,
  balancer: UpstreamBalancer,
  deps: SendDeps,
  checkIdentity?: CheckIdentity,
): Promise<Reply> {
  const { context, isSigned } = request
  const tried: UpstreamServer[] = []
  let failures: readonly ServerFailure[] = []
  for (let attempt = 0; ; attempt += 1) {
    const server = balancer.choose(tried)
    if (server === undefined) throw createRefusal(failures, balancer, deps.watch)
    request.onServer?.(server.url)
    const sent = sendRequest(request, server, deps)
    const outcome = toOutcome(await sent.pipe.head, sent, context, deps)
    if (outcome.kind === 'reply') {
      balancer.markUp(server)
      deps.watch.onResponded(server.url)
      const { reply } = outcome
      const checking = isSigned ? checkIdentity?.(server, reply.status) : undefined
      const rejection = checking && (await checking)
      if (rejection !== undefined) throw rejectIdentity(reply, rejection, server.url, deps.watch)
      return reply
    }
    // the client disconnected: the server is not at fault
    if (context.isGone) throw toUpstreamRefusal(outcome.error, balancer)
    penalize(server, outcome, balancer, deps.watch)
    // of a server that was asked twice, only the last failure counts
    failures = [...failures.filter((failure) => failure.server !== server), { server, error: outcome.error }]
    if (!canRepeat(context.method, outcome)) throw createRefusal(failures, balancer, deps.watch)
    server.retries += 1
    // if an idle connection of the only server was just closed, a new one to the same server may work
    const isWorthRepeating = isDisconnected(outcome.error) && attempt === 0 && balancer.servers.length === 1
    if (!isWorthRepeating) tried.push(server)
  }
}

interface ServerFailure {
  readonly server: UpstreamServer
  readonly error: Error
}

/**
 * The refusal for the client: a server that accepted the request and failed decides it (502), before those that could
 * not be reached (503). Records the failures; `penalize` has recorded the servers that could not be reached.
 */
function createRefusal(failures: readonly ServerFailure[], balancer: UpstreamBalancer, watch: UpstreamWatch): Refusal {
  const reached = failures.filter(({ error }) => !isUnconnected(error))
  for (const { server, error } of reached) if (isUpstreamFault(error)) watch.onFailed(server.url, error)
  const decisive = reached.at(-1) ?? failures.at(-1)
  return decisive ? toUpstreamRefusal(decisive.error, balancer) : balancer.createRefusal()
}

/** The server sent this reply because it rejects Cardea's signature. */
function rejectIdentity({ body }: Reply, reason: string, url: string, watch: UpstreamWatch): Refusal {
  if (isResponseStream(body)) body.discard()
  watch.onRejected(url, reason)
  return new Refusal('upstream_rejects_identity', { detail: reason })
}

function penalize(server: UpstreamServer, failure: Failure, balancer: UpstreamBalancer, watch: UpstreamWatch): void {
  const { error } = failure
  if (isUnconnected(error)) {
    balancer.markDown(server)
    watch.onUnconnected(server.url, error)
  } else if (isTimeout(error)) balancer.deprioritize(server)
  else if (hasBroken(failure)) balancer.suspect(server)
}

/** Not `PUT`, although HTTP defines it as idempotent: ArangoDB returns the next batch of a cursor for it, and goes on. */
const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

function canRepeat(method: string, failure: Failure): boolean {
  const { error, hasBegun, hasSent } = failure
  if (isUnconnected(error) || isHandshakeFailure(failure)) return true
  return isDisconnected(error) && REPEATABLE.has(method) && !hasBegun && !hasSent
}

/** The TLS handshake failed, so nothing was sent. The codes of undici are for other errors. */
function isHandshakeFailure({ error, wasStarted }: Failure): boolean {
  const code = codeOf(error)
  return !wasStarted && code !== '' && !code.startsWith('UND_ERR_') && !(error instanceof Refusal)
}

/** The connection ended without a response, the response is not HTTP, or the handshake failed. */
const hasBroken = (failure: Failure): boolean =>
  isDisconnected(failure.error) || isNotHttp(failure.error) || isHandshakeFailure(failure)

/** Other refusals are about the client: its body broke off, or its session ended meanwhile. */
const isUpstreamFault = (error: Error): boolean => !(error instanceof Refusal) || error.code === 'upstream_failed'
