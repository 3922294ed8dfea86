// What a worker thread hears from the main thread, and how it follows it.
import { setTimeout as pause } from 'node:timers/promises'
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { shareRun } from '../base/turns.ts'
import type { ReplicaConfig } from '../live-config/replica.ts'
import { CHANGES, type SharedState, type ToWorker, type WorkerStart } from './messages.ts'

const RETRY_MS = 100

type Result = Extract<ToWorker, { kind: 'result' }>
type Control = Exclude<ToWorker, { kind: 'changed' | 'result' }>

/** The messages of the main thread, in order. */
export function openInbox(port: MessagePort, settle: (result: Result) => void) {
  const states: SharedState[] = []
  let onChanged = () => {}
  const early: Control[] = []
  let onControl = (message: Control): void => void early.push(message)
  const take = (message: ToWorker): void => {
    if (message.kind === 'result') settle(message)
    else if (message.kind === 'changed') {
      if (message.state) states.push(message.state)
      onChanged()
    } else onControl(message)
  }
  port.on('message', take)
  return {
    /** Takes the messages that have arrived. Returns the configurations that wait, to be removed when they are applied. */
    receive(): SharedState[] {
      for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) take(next.message)
      return states
    },
    onChanged(listener: () => void): void {
      onChanged = listener
    },
    /** The messages that have arrived before are taken at once. */
    onControl(listener: (message: Control) => void): void {
      onControl = listener
      for (const message of early) listener(message)
    },
  }
}

/** Applies the changes that the main thread announces. */
export function followChanges(
  { counters, state }: WorkerStart,
  inbox: ReturnType<typeof openInbox>,
  liveConfig: ReplicaConfig,
  parts: { describeKeys(): string; catchUp(): Promise<unknown> },
) {
  let expected = state
  let applied = -1
  const isBehind = () => Atomics.load(counters, CHANGES) !== applied
  const applyOnce = async (): Promise<void> => {
    const changes = Atomics.load(counters, CHANGES)
    const states = inbox.receive()
    // every one of them: a secret may be revoked in one that is followed by another
    for (let next = states[0]; next; next = states[0]) {
      expected = next
      await liveConfig.replace(next.snapshot)
      states.shift()
    }
    // a file of keys may have changed since it was read
    if (parts.describeKeys() !== expected.keyVersions) await liveConfig.replace(expected.snapshot)
    await parts.catchUp()
    // otherwise a file of keys is not what the main thread has read
    if (parts.describeKeys() === expected.keyVersions) applied = changes
    else await pause(RETRY_MS)
  }
  // taking messages calls this function again
  const catchUp = shareRun(async (): Promise<void> => {
    // the store may be unreachable: until then the main thread decides
    while (isBehind()) await applyOnce().catch(() => pause(RETRY_MS))
  })
  inbox.onChanged(() => void catchUp())
  return { countApplied: () => (isBehind() ? undefined : applied), catchUp }
}
