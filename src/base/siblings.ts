/** The processes that serve for one server, as each of them sees the others. Most servers have one, without others. */
import { hkdfSync, randomBytes, randomUUID } from 'node:crypto'

/** One matter that siblings talk about. Values and replies are plain data, which another process can be sent. */
export interface Topic<Value, Answer = void> {
  readonly name: string
  /** Only for the compiler. */
  readonly types?: (value: Value) => Answer
}

export interface ServerProcess {
  readonly pid: number
  /** When it was started, by the clock of the machine then. */
  readonly startedMs: number
}

/** What all processes of a server have in common, until it is started again. */
interface ServerIdentity {
  readonly instance: string
  /** The process that an operator sends signals to. */
  readonly server: ServerProcess
  /** Random bytes, from which secrets are derived. Never stored. */
  readonly seed: Uint8Array
}

export interface Placement extends ServerIdentity {
  /** The number of this process, from 1: no sibling that runs now has it. */
  readonly place: number
  /** How many processes are to serve, with this one. */
  readonly count: number
}

export interface Siblings extends Placement {
  /** Whether this process does what one of them does for all. It may change at any time. */
  isFirst(): boolean
  /** Whether all processes have served at the same time: the start of the server has ended. */
  wasComplete(): boolean
  /** Called with the place of each sibling that has ended. */
  onEnded(listener: (place: number) => void): void
  /**
   * Handles what the others say. A topic has one handler. At a process without one a message counts as handled: install
   * it before reading what it is about.
   */
  answer<Value, Answer>(topic: Topic<Value, Answer>, handle: (value: Value) => Answer | Promise<Answer>): void
  /**
   * Resolves when every sibling has handled it, also one that starts. One that does not in time is ended before.
   * Rejects if the handler of one does, when all have replied.
   */
  tellAll<Value, Answer>(topic: Topic<Value, Answer>, value: Value): Promise<readonly Answer[]>
  /** The answers of the siblings that have one soon. */
  askAll<Value, Answer>(topic: Topic<Value, Answer>, value: Value): Promise<readonly Answer[]>
  /** The answer of the first process, which may be this one. A `Refusal` there is one here. */
  askFirst<Value, Answer>(topic: Topic<Value, Answer>, value: Value): Promise<Answer>
}

const SEED_BYTES = 32

/** For the process that is the server, or starts those that serve. */
export const createServerIdentity = (): ServerIdentity => ({
  instance: randomUUID(),
  server: { pid: process.pid, startedMs: Math.floor(Date.now() - process.uptime() * 1000) },
  seed: randomBytes(SEED_BYTES),
})

/** A secret that all siblings have, until the server is started again. Each use has its own. */
export const deriveSecret = (seed: Uint8Array, use: string, bytes = 32): Buffer =>
  Buffer.from(hkdfSync('sha256', seed, '', use, bytes))

export function createAlone(): Siblings {
  const handlers = new Map<string, (value: unknown) => unknown>()
  return {
    ...createServerIdentity(),
    place: 1,
    count: 1,
    isFirst: () => true,
    wasComplete: () => true,
    onEnded: () => {},
    // the types of a topic are those of its handler
    answer: (topic, handle) => void handlers.set(topic.name, handle as (value: unknown) => unknown),
    tellAll: async () => [],
    askAll: async () => [],
    // also its answer: what the first process is asked has a handler
    askFirst: async <Value, Answer>({ name }: Topic<Value, Answer>, value: Value) =>
      (await handlers.get(name)?.(value)) as Answer,
  }
}
