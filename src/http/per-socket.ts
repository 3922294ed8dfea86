import type { Socket } from 'node:net'

/** Something a door notes with a connection, and looks up with every request. */
export interface SocketNote<T> {
  get(socket: Socket): T | undefined
  set(socket: Socket, value: T): void
}

/** Kept with the socket itself: it goes when that goes, and is found without a search. */
export function createSocketNote<T>(): SocketNote<T> {
  const key = Symbol('note')
  type Noted = Socket & { [key]?: T }
  return {
    get: (socket: Noted) => socket[key],
    set: (socket: Noted, value) => {
      socket[key] = value
    },
  }
}
