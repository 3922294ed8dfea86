import type { Socket } from 'node:net'

/** What Node knows of a connection and tells to nobody; nothing of it need be there. */
interface SocketHandle {
  /** The number of its file. */
  readonly fd?: number
  /** Bytes of the piece under way that the system has not taken yet. */
  readonly writeQueueSize?: number
}

/** `undefined`: the connection is gone. Its types leave it out; whoever asks here does without where it is missing. */
export const handleOf = (socket: Socket): SocketHandle | undefined =>
  (socket as { _handle?: SocketHandle | null })._handle ?? undefined
