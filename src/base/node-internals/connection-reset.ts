import type { Socket } from 'node:net'

let isReset = false

/**
 * Whether the connection that is ending right now was reset. undici reports a reset as the normal end of a response that
 * is delimited by the end of its connection: without this, a client would take a part of a response for the whole
 * (test/scenario/gateway/answers.test.ts).
 */
export const isConnectionReset = (): boolean => isReset

/**
 * Sets the flag right before undici hears that a connection ended, and clears it right after. `addListeners` hands the
 * socket to undici, which adds its listeners: Node calls listeners in the order in which they were added.
 */
export function flagResets(socket: Socket | null, addListeners: () => void): void {
  for (const event of ENDS) socket?.on(event, setReset)
  addListeners()
  for (const event of ENDS) socket?.on(event, clearReset)
}

const ENDS = ['end', 'error', 'close']

function setReset(this: Socket): void {
  isReset = this.errored !== null
}

function clearReset(): void {
  isReset = false
}
