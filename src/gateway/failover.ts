import { Refusal } from '../base/errors.ts'
import type { Reply } from '../http/request-context.ts'
import type { Balancer, Member } from './balancer.ts'
import type { CheckIdentity } from './identity-check.ts'
import type { Pools } from './pools.ts'
import type { UpstreamDeps } from './upstream.ts'
import { isDisconnected, isUnanswered, isUnconnected, toUpstreamRefusal } from './upstream-errors.ts'
import { Attempt, type AttemptOwner, type Failed, type Order } from './upstream-request.ts'

export interface RoundDeps extends UpstreamDeps {
  readonly checkIdentity: CheckIdentity | undefined
}

/** Asks one server after another, as long as that can do no harm. */
export const askAround = (order: Order, group: Balancer<Pools>, deps: RoundDeps): Promise<Reply> =>
  new Promise((resolve, reject) => new Round(order, group, deps, resolve, reject).next())

const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

class Round implements AttemptOwner {
  readonly #order: Order
  readonly #group: Balancer<Pools>
  readonly #deps: RoundDeps
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (error: unknown) => void
  #tried: Set<Member<Pools>> | undefined
  #failure: Refusal | undefined
  #repeats = 0

  constructor(
    order: Order,
    group: Balancer<Pools>,
    deps: RoundDeps,
    resolve: (reply: Reply) => void,
    reject: (error: unknown) => void,
  ) {
    this.#order = order
    this.#group = group
    this.#deps = deps
    this.#resolve = resolve
    this.#reject = reject
  }

  next(): void {
    const member = this.#group.choose(this.#tried)
    if (member === undefined) this.#reject(this.#failure ?? this.#group.refuse())
    else this.#ask(member)
  }

  #ask(member: Member<Pools>): void {
    try {
      new Attempt(this.#order, member, this.#deps, this).send()
    } catch (error) {
      this.#reject(error)
    }
  }

  onReply(member: Member<Pools>, reply: Reply): void {
    if (member.failures > 0) this.#group.revive(member)
    this.#deps.watch.onResponded(member.url)
    const { probe, checkIdentity } = this.#deps
    if (this.#order.isSigned && checkIdentity && probe?.suspicious.has(reply.status))
      void this.#examine(member, reply, checkIdentity)
    else this.#resolve(reply)
  }

  /** The response waits meanwhile. It is passed on unchanged unless the signature is what was rejected. */
  async #examine(member: Member<Pools>, reply: Reply, checkIdentity: CheckIdentity): Promise<void> {
    const reason = await checkIdentity(member)
    if (reason === undefined) {
      this.#resolve(reply)
      return
    }
    dropBody(reply)
    this.#deps.watch.onRejected(member.url, reason)
    this.#reject(new Refusal('upstream_rejects_identity', { detail: reason }))
  }

  onFailed(member: Member<Pools>, failed: Failed): void {
    const { error } = failed
    this.#judge(member, failed)
    this.#failure = toUpstreamRefusal(error, this.#group.refuse)
    const isSafe = isUnconnected(error) || (isDisconnected(error) && isRepeatable(this.#order, failed))
    if (!isSafe || this.#order.context.isGone) {
      if (isUpstreamFault(error) && !this.#order.context.isGone) this.#deps.watch.onFailed(member.url, error)
      this.#reject(this.#failure)
      return
    }
    // a connection kept alive may be closed by the other end just now: a fresh one of the same server will do
    this.#tried ??= new Set()
    if (isUnconnected(error) || this.#repeats > 0 || this.#group.members.length > 1) this.#tried.add(member)
    this.#repeats += 1
    // not before whoever told of the failure has put its own things in order
    queueMicrotask(() => this.next())
  }

  #judge(member: Member<Pools>, { error, hasBegun }: Failed): void {
    if (isUnconnected(error)) {
      this.#group.rest(member)
      this.#deps.watch.onUnconnected(member.url, error)
    } else if (isUnanswered(error)) this.#group.avoid(member)
    else if (isDisconnected(error) && !hasBegun) this.#group.doubt(member)
  }
}

/** Other refusals are about the client: its body broke off, or its session ended meanwhile. */
const isUpstreamFault = (error: Error): boolean => !(error instanceof Refusal) || error.code === 'upstream_failed'

function dropBody({ body }: Reply): void {
  if (typeof body === 'object' && 'discard' in body) body.discard()
}

const isRepeatable = ({ context }: Order, { hasBegun, hasSent }: Failed): boolean =>
  IDEMPOTENT.has(context.method) && !hasBegun && !hasSent
