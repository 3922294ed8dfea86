// Clients of several nodes, each with a user that it creates, uses and deletes, again and again. What they were told is
// recorded, so that it can be checked afterwards.
import { setTimeout as pause } from 'node:timers/promises'
import type { History, HistoryChange } from '../../support/history.ts'
import { AS_ADMIN, type Request, send } from '../../support/request.ts'
import type { Server } from '../../support/server.ts'

export interface LoadedNode {
  readonly name: string
  readonly server: Server
}

const MAX_MS = 15_000

/** `undefined`: no response. */
async function ask(base: string, request: Request) {
  const late = new AbortController()
  const timeout = pause(MAX_MS, undefined, { signal: late.signal, ref: false }).catch(() => {})
  try {
    return (await Promise.race([send(base, request), timeout])) ?? undefined
  } catch {
    return undefined
  } finally {
    late.abort()
  }
}

const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)] as T

export class Load {
  readonly #history: History
  readonly #nodes: readonly LoadedNode[]
  readonly #running: Promise<void>[]
  #isOver = false
  #mayWrite: Promise<unknown> = Promise.resolve()
  readonly #writing = new Set<Promise<unknown>>()
  /** Server errors that are never right. */
  readonly defects: string[] = []

  constructor(history: History, nodes: readonly LoadedNode[], clients: number) {
    this.#history = history
    this.#nodes = nodes
    this.#running = Array.from({ length: clients }, (_, number) => this.#runClient(number))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
  }

  /** Lets `work` run when no client is changing anything. */
  async holdWrites<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#mayWrite = promise
    await Promise.all(this.#writing)
    return work().finally(resolve)
  }

  async #writeInTurn(subject: string, isValid: boolean): Promise<void> {
    await this.#mayWrite
    const writing = this.write(subject, isValid)
    this.#writing.add(writing)
    await writing.finally(() => this.#writing.delete(writing))
  }

  async #runClient(number: number): Promise<void> {
    for (let round = 0; !this.#isOver; round += 1) {
      const subject = `user-${number}-${round}`
      await this.#writeInTurn(subject, true)
      const cookie = await this.#signIn(subject)
      for (let turn = 0; turn < 3; turn += 1) await this.use(subject, pick(this.#nodes), cookie)
      // some stay, for the changes after a failover
      if (round % 3 > 0) await this.#writeInTurn(subject, false)
      for (let turn = 0; turn < 3; turn += 1) await this.use(subject, pick(this.#nodes), cookie)
    }
  }

  /** Creates or deletes a user. Returns whether that was acknowledged. */
  async write(subject: string, isValid: boolean, { name, server }: LoadedNode = pick(this.#nodes)): Promise<boolean> {
    const sentMs = performance.now()
    const reply = await ask(server.multiModel, isValid ? toCreate(subject) : toDelete(subject))
    this.#note(reply?.status, 'a change')
    const isDone = reply !== undefined && reply.status < 300
    const acknowledgedMs = isDone ? performance.now() : undefined
    const isRefused = reply !== undefined && reply.status >= 400 && reply.status < 500
    if (!isRefused) this.#history.change({ subject, isValid, sentMs, acknowledgedMs, node: name })
    return isDone
  }

  /** Uses the credentials of a user at a node. Returns whether they were accepted; `undefined`: the node did not decide. */
  async use(subject: string, { name, server }: LoadedNode, cookie?: string): Promise<boolean | undefined> {
    const isCookie = cookie !== undefined && Math.random() < 0.5
    const credential = isCookie ? { headers: { Cookie: cookie } } : { as: `${subject}:${subject}` }
    const startMs = performance.now()
    const reply = await ask(server.document, { path: '/_session', ...credential })
    this.#note(reply?.status, 'a credential')
    if (reply?.status !== 200 && reply?.status !== 401) return undefined
    const isAccepted = reply.status === 200 && reply.json.userCtx.name === subject
    this.#history.decide({ subject, node: name, isAccepted, startMs, endMs: performance.now() })
    return isAccepted
  }

  /** Uses the credentials of every user at every node, until each node has decided. */
  async useAll(): Promise<void> {
    for (const subject of this.#history.subjects)
      await Promise.all(
        this.#nodes.map(async (node) => {
          for (let tries = 0; tries < 50 && (await this.use(subject, node)) === undefined; tries += 1) await pause(100)
        }),
      )
  }

  async #signIn(subject: string): Promise<string | undefined> {
    const body = { name: subject, password: subject }
    const reply = await ask(pick(this.#nodes).server.document, { method: 'POST', path: '/_session', body })
    return reply?.status === 200 ? reply.header('set-cookie')?.split(';')[0] : undefined
  }

  #note(status: number | undefined, what: string): void {
    if (status === 500) this.defects.push(`500 for ${what}`)
  }
}

const toCreate = (user: string): Request => ({
  as: AS_ADMIN,
  method: 'POST',
  path: '/_api/user',
  body: { user, passwd: user },
})

const toDelete = (user: string): Request => ({ as: AS_ADMIN, method: 'DELETE', path: `/_api/user/${user}` })

/** Which users were changed with an acknowledgement that the store does not have. */
export function listLost(history: History, truth: ReadonlyMap<string, boolean>): readonly HistoryChange[] {
  return history.subjects.flatMap((subject) => {
    const last = history.findLast(subject)
    return last && last.isValid !== (truth.get(subject) ?? false) ? [last] : []
  })
}
