/** Carries what the workers of one server say to each other. It knows no topic; it knows who is first, and deadlines. */
import type { ErrorCode, Refusal } from '../base/errors.ts'
import { createServerIdentity, type Placement } from '../base/siblings.ts'

/** `all`: each must have handled it. `soon`: those that reply in time. `first`: the first worker. */
export type Audience = 'all' | 'soon' | 'first'

/** A refusal as another process can be sent it. */
export interface SentError extends Partial<Pick<Refusal, 'reason' | 'value' | 'detail' | 'retryAfterSeconds'>> {
  readonly code: ErrorCode
}

/** Neither: the worker has no handler of the topic. */
export type WorkerReply = { readonly value?: unknown } | { readonly error: SentError }

export interface Said {
  readonly id: number
  readonly topic: string
  readonly value: unknown
}

export type ToWorker =
  | { readonly kind: 'welcome'; readonly placement: Placement }
  | { readonly kind: 'first'; readonly isFirst: boolean }
  /** All have served at the same time. */
  | { readonly kind: 'complete' }
  /** The worker of this place has ended. */
  | { readonly kind: 'ended'; readonly place: number }
  | ({ readonly kind: 'said' } & Said)
  | { readonly kind: 'replies'; readonly id: number; readonly replies: readonly WorkerReply[] }

export type FromWorker =
  /** From now on it receives everything; it has read nothing yet that could change. */
  | { readonly kind: 'join' }
  | ({ readonly kind: 'say'; readonly audience: Audience } & Said)
  | { readonly kind: 'reply'; readonly id: number; readonly reply: WorkerReply }

/** The channel to one worker. */
export interface WorkerPort {
  send(message: ToWorker): void
  /** Ends the worker at once. `leave` is called when it has ended. */
  kill(): void
}

/** One worker, as the router knows it. */
export interface Member {
  readonly place: number
  isFirst(): boolean
  receive(message: FromWorker): void
  /** It has sent a message that is not for other workers. Any message shows that it is not stuck. */
  hear(): void
  /** It serves, and can be the first. */
  setReady(): void
  /** It takes no new connections: another one is first. It still receives everything. */
  setLeaving(): void
  /** It has ended. */
  leave(): void
}

interface State extends WorkerPort {
  readonly place: number
  hasJoined: boolean
  isReady: boolean
  isLeaving: boolean
  /** How many messages it has sent. */
  messages: number
}

interface Open extends Said {
  readonly audience: Audience
  readonly from: State
  /** The id by which the worker that said it knows it. */
  readonly ownId: number
  readonly waiting: Set<State>
  readonly replies: WorkerReply[]
  timer?: NodeJS.Timeout
  /** Passes over the first worker if it has sent nothing until then. */
  silenceTimer?: NodeJS.Timeout
}

/** `silent`: a first worker that has said nothing at all since it was asked is not the first any longer. */
const DEADLINES_MS: Readonly<Record<Audience | 'silent', number>> = { all: 2000, soon: 1000, first: 5000, silent: 2000 }
const TOO_LATE: WorkerReply = { error: { code: 'overloaded', detail: 'the first worker did not reply in time' } }

export class Router {
  readonly #count: number
  readonly #deadlinesMs: typeof DEADLINES_MS
  readonly #identity = createServerIdentity()
  /** In the order of their start, behind them those that were stuck. */
  readonly #members = new Set<State>()
  readonly #open = new Map<number, Open>()
  #first: State | undefined
  #wasComplete = false
  #lastId = 0

  constructor(count: number, deadlinesMs: Partial<typeof DEADLINES_MS> = {}) {
    this.#count = count
    this.#deadlinesMs = { ...DEADLINES_MS, ...deadlinesMs }
  }

  /** A worker that has been started. */
  add(port: WorkerPort): Member {
    const places = new Set([...this.#members].map(({ place }) => place))
    let place = 1
    while (places.has(place)) place += 1
    const member: State = { ...port, place, hasJoined: false, isReady: false, isLeaving: false, messages: 0 }
    this.#members.add(member)
    return {
      place,
      isFirst: () => member === this.#first,
      receive: (message) => this.#receive(member, message),
      hear: () => this.#hear(member),
      setReady: () => this.#change(member, 'isReady'),
      setLeaving: () => this.#change(member, 'isLeaving'),
      leave: () => this.#remove(member),
    }
  }

  #hear(member: State): void {
    member.messages += 1
  }

  #receive(member: State, message: FromWorker): void {
    this.#hear(member)
    if (message.kind === 'join') {
      const placement = { ...this.#identity, place: member.place, count: this.#count }
      member.send({ kind: 'welcome', placement })
      if (this.#wasComplete) member.send({ kind: 'complete' })
      this.#change(member, 'hasJoined')
    } else if (message.kind === 'say') this.#say(member, message)
    else {
      const open = this.#open.get(message.id)
      if (open?.waiting.delete(member)) this.#takeReply(open, message.reply)
    }
  }

  #change(member: State, what: 'hasJoined' | 'isReady' | 'isLeaving'): void {
    member[what] = true
    this.#chooseFirst()
    const all = [...this.#members]
    if (this.#wasComplete || all.filter(({ isReady }) => isReady).length < this.#count) return
    this.#wasComplete = true
    for (const each of all) each.send({ kind: 'complete' })
  }

  /** The one that has served longest; while none serves, the one that has been starting longest. */
  #chooseFirst(): void {
    const all = [...this.#members].filter(({ hasJoined }) => hasJoined)
    const staying = all.filter(({ isLeaving }) => !isLeaving)
    const first = staying.find(({ isReady }) => isReady) ?? staying[0] ?? all[0]
    if (first === this.#first) return
    this.#first?.send({ kind: 'first', isFirst: false })
    this.#first = first
    first?.send({ kind: 'first', isFirst: true })
  }

  #say(from: State, { audience, id: ownId, topic, value }: Extract<FromWorker, { kind: 'say' }>): void {
    this.#lastId += 1
    const id = this.#lastId
    const open: Open = { audience, from, ownId, id, topic, value, waiting: new Set(), replies: [] }
    this.#open.set(id, open)
    // replies that have arrived while this process was suspended are read before timers count
    const expireSoon = () => setImmediate(() => this.#expire(open))
    open.timer = setTimeout(expireSoon, this.#deadlinesMs[audience])
    if (audience === 'first') this.#sendToFirst(open)
    else this.#sendToOthers(open)
  }

  #sendToFirst(open: Open): void {
    const first = this.#first
    // one that says something has joined, so there is a first
    if (!first) return
    this.#sendTo(first, open)
    const { messages } = first
    const passOverIfSilent = () => {
      if (open.waiting.has(first) && first.messages === messages) this.#passOver(first)
    }
    clearTimeout(open.silenceTimer)
    open.silenceTimer = setTimeout(() => setImmediate(passOverIfSilent), this.#deadlinesMs.silent)
  }

  /** Another one is the first, if there is another that serves. */
  #passOver(stuck: State): void {
    this.#members.delete(stuck)
    this.#members.add(stuck)
    this.#chooseFirst()
    if (this.#first !== stuck) this.#askNextFirst(stuck)
  }

  #askNextFirst(before: State): void {
    for (const open of this.#open.values())
      if (open.audience === 'first' && open.waiting.delete(before)) this.#sendToFirst(open)
  }

  #sendToOthers(open: Open): void {
    for (const member of this.#members) if (member.hasJoined && member !== open.from) this.#sendTo(member, open)
    this.#endIfComplete(open)
  }

  #sendTo(member: State, { waiting, id, topic, value }: Open): void {
    waiting.add(member)
    member.send({ kind: 'said', id, topic, value })
  }

  #takeReply(open: Open, reply: WorkerReply): void {
    open.replies.push(reply)
    this.#endIfComplete(open)
  }

  #endIfComplete(open: Open): void {
    if (open.waiting.size > 0) return
    this.#close(open)
    open.from.send({ kind: 'replies', id: open.ownId, replies: open.replies })
  }

  #expire(open: Open): void {
    if (!this.#open.has(open.id)) return
    // its end is its reply: until then it could serve what has changed
    if (open.audience === 'all') for (const member of open.waiting) member.kill()
    else {
      open.waiting.clear()
      if (open.audience === 'first') open.replies.push(TOO_LATE)
      this.#endIfComplete(open)
    }
  }

  #close(open: Open): void {
    clearTimeout(open.timer)
    clearTimeout(open.silenceTimer)
    this.#open.delete(open.id)
  }

  #remove(member: State): void {
    if (!this.#members.delete(member)) return
    this.#chooseFirst()
    for (const { hasJoined, send } of this.#members) if (hasJoined) send({ kind: 'ended', place: member.place })
    for (const open of this.#open.values()) if (open.from === member) this.#close(open)
    // its successor has everything that it had acknowledged
    this.#askNextFirst(member)
    for (const open of [...this.#open.values()]) if (open.waiting.delete(member)) this.#endIfComplete(open)
  }
}
