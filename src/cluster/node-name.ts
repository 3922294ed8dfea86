// The name of a node is that of its audit chain, and tells nodes apart in the log: of each name one may run.
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { attempt, codeOf } from '../base/errors.ts'
import type { NodeRecord, NodeStore } from '../directory/store-port/nodes.ts'
import { StartError } from '../kernel/start-error.ts'

/** Two machines may have one host name, and the first namespace of process ids has the same number on each. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id'

/** Process ids are those of one start of a machine, and there of one container. */
export const MACHINE = [
  hostname(),
  attempt(() => readlinkSync('/proc/self/ns/pid')) ?? '',
  attempt(() => readFileSync(BOOT_ID, 'utf8').trim()) ?? '',
].join(' ')

/** The instances that run in this process. */
const running = new Set<string>()

const AGAIN_MS = 250

interface Claim {
  /** As it is written now. */
  describe(): NodeRecord
  /** Whether the store is locked for this process, so that every other node has ended. */
  readonly isAlone: boolean
  /** Longer than the time between two heartbeats. */
  readonly maxWaitMs: number
}

/**
 * Writes this node to the store unless another one of its name runs: then throws. A node that was killed has left its
 * row there: it has ended if its process is gone, or if it does not beat while this waits.
 */
export async function claimName(store: NodeStore, { describe, isAlone, maxWaitMs }: Claim): Promise<() => void> {
  const untilMs = performance.now() + maxWaitMs
  let first: NodeRecord | undefined
  for (;;) {
    const own = describe()
    const other = await store.claimNode(own)
    if (!other) return hold(own.instance)
    if (first?.instance !== other.instance) first = other
    if (running.has(other.instance) || other.seenAt !== first.seenAt) throw toNameTaken(other)
    if (isAlone || hasEnded(other, own) || performance.now() > untilMs) await store.removeNode(other.instance)
    else await pause(AGAIN_MS)
  }
}

function hold(instance: string): () => void {
  running.add(instance)
  return () => void running.delete(instance)
}

function hasEnded({ state: { process: other } }: NodeRecord, own: NodeRecord): boolean {
  if (other?.machine !== MACHINE) return false
  return other.pid === own.state.process?.pid || !isRunning(other.pid)
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

function toNameTaken({ name, state }: NodeRecord): StartError {
  const [host] = state.process?.machine.split(' ') ?? []
  const place = state.process ? ` (host ${host}, process ${state.process.pid})` : ''
  return new StartError(
    `Another node with the name ${name} is running${place}. Give each node of the store a name of its own: --node.name`,
  )
}
