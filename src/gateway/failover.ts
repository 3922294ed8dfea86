import { Refusal } from '../base/errors.ts'
import { isResponseStream } from '../http/reply.ts'
import type { Reply } from '../http/request-context.ts'
import type { UpstreamBalancer, UpstreamServer } from './connections.ts'
import type { CheckIdentity, IdentityProbe } from './identity-probe.ts'
import { isDisconnected, isTimeout, isUnconnected, toUpstreamRefusal } from './upstream-errors.ts'
import { type Failure, type SendDeps, sendRequest, toOutcome, type UpstreamRequest } from './upstream-request.ts'

export interface FailoverDeps extends SendDeps {
  /** Whether the server accepts the identities that Cardea signs. Omitted where the server does not show it. */
  readonly probe?: IdentityProbe
  readonly checkIdentity: CheckIdentity | undefined
}

/** Sends the request to one server after another, as long as repeating it is safe. */
export async function sendWithFailover(
  request: UpstreamRequest,
  balancer: UpstreamBalancer,
  deps: FailoverDeps,
): Promise<Reply> {
  const tried: UpstreamServer[] = []
  let failed: FailedServer | undefined
  for (let attempt = 0; ; attempt += 1) {
    const server = balancer.choose(tried)
    if (server === undefined) throw failed ? refuse(failed, request, { balancer, deps }) : balancer.createRefusal()
    request.onServer?.(server.url)
    const sent = sendRequest(request, server, deps)
    const outcome = toOutcome(await sent.pipe.head, sent, { context: request.context, deps })
    if (outcome.kind === 'reply') {
      balancer.markUp(server)
      deps.watch.onResponded(server.url)
      if (isSuspicious(request, outcome.reply, deps)) await requireAcceptedIdentity(outcome.reply, server, deps)
      return outcome.reply
    }
    penalize(server, outcome, { balancer, deps })
    // a server that accepted the connection says more about the request than one that could not be reached
    if (failed === undefined || !isUnconnected(outcome.error)) failed = { url: server.url, error: outcome.error }
    if (request.context.isGone || !canRepeat(request, outcome)) throw refuse(failed, request, { balancer, deps })
    server.retries += 1
    // if an idle connection of the only server was just closed, a new one to the same server may work
    const isWorthRepeating = !isUnconnected(outcome.error) && attempt === 0 && balancer.servers.length === 1
    if (!isWorthRepeating) tried.push(server)
  }
}

/** The failure that decides the refusal if no server responds. */
interface FailedServer {
  readonly url: string
  readonly error: Error
}

/** The refusal for the client. Records the failure if the server accepted the connection; `penalize` recorded others. */
function refuse({ url, error }: FailedServer, { context }: UpstreamRequest, { balancer, deps }: Scope): Refusal {
  if (!context.isGone && !isUnconnected(error) && isUpstreamFault(error)) deps.watch.onFailed(url, error)
  return toUpstreamRefusal(error, balancer.createRefusal)
}

interface Scope {
  readonly balancer: UpstreamBalancer
  readonly deps: FailoverDeps
}

/** Whether the server may have sent this reply because it rejects Cardea's signature. */
const isSuspicious = ({ isSigned }: UpstreamRequest, { status }: Reply, { probe }: FailoverDeps): boolean =>
  isSigned && (probe?.suspicious.has(status) ?? false)

/** The reply waits for the check. It is passed on unchanged unless the server rejects Cardea's signature. */
async function requireAcceptedIdentity({ body }: Reply, server: UpstreamServer, deps: FailoverDeps): Promise<void> {
  const { checkIdentity, watch } = deps
  const reason = await checkIdentity?.(server)
  if (reason === undefined) return
  if (isResponseStream(body)) body.discard()
  watch.onRejected(server.url, reason)
  throw new Refusal('upstream_rejects_identity', { detail: reason })
}

function penalize(server: UpstreamServer, { error, hasBegun }: Failure, { balancer, deps }: Scope): void {
  if (isUnconnected(error)) {
    balancer.markDown(server)
    deps.watch.onUnconnected(server.url, error)
  } else if (isTimeout(error)) balancer.deprioritize(server)
  else if (isDisconnected(error) && !hasBegun) balancer.suspect(server)
}

const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

function canRepeat({ context }: UpstreamRequest, { error, hasBegun, hasSent }: Failure): boolean {
  if (isUnconnected(error)) return true
  return isDisconnected(error) && IDEMPOTENT.has(context.method) && !hasBegun && !hasSent
}

/** Other refusals are about the client: its body broke off, or its session ended meanwhile. */
const isUpstreamFault = (error: Error): boolean => !(error instanceof Refusal) || error.code === 'upstream_failed'
