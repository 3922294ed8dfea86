/**
 * undici takes a connection that was reset for the end of an answer that ends with its connection. Whether it broke is
 * told here, for as long as undici is being told that it is over.
 */
import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'

let isBroken = false

/** Whether the connection that ends at this moment broke. */
export const isBreaking = (): boolean => isBroken

/** Hears of the end of each connection right before undici does, and right after. */
export const tellBreaks =
  (connect: buildConnector.connector): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...outcome) => {
      const [, socket] = outcome
      socket?.on('error', begin).on('close', begin)
      callback(...outcome)
      socket?.on('error', end).on('close', end)
    })

function begin(this: Socket): void {
  isBroken = this.errored !== null
}

function end(): void {
  isBroken = false
}
