/**
 * Hands connections from the thread that accepts them to another thread. Node passes connections between processes only;
 * this uses the same pipe within one process. The system duplicates each connection on its way, so either thread can
 * close its own. Works for TCP connections of which nothing was read (test/base/socket-channel.test.ts).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Handle {
  readonly fd: number
  readStop(): void
  close(): void
}

interface Pipe extends Handle {
  pendingHandle?: Handle | undefined
  onread?: () => void
  open(fd: number): number
  connect(request: object, path: string): number
  readStart(): number
  writeUtf8String(request: object, text: string, handle?: Handle): number
}

/** The parts of Node that its module `cluster` is made of. */
interface Bindings {
  readonly Pipe: new (kind: number) => Pipe
  readonly PipeConnectWrap: new () => { oncomplete?: (status: number) => void }
  readonly constants: { readonly IPC: number }
  readonly WriteWrap: new () => { oncomplete?: (status: number) => void }
  readonly streamBaseState: Int32Array
  readonly kLastWriteWasAsync: number
}

/** Node's types leave these out. */
function loadBindings(): Bindings {
  const { binding } = process as unknown as { binding(name: string): object }
  return { ...binding('pipe_wrap'), ...binding('stream_wrap') } as Bindings
}

const handleOf = (socket: Socket): Handle | null | undefined =>
  (socket as unknown as { readonly _handle?: Handle | null })._handle

export type SocketChannel = Awaited<ReturnType<typeof openSocketChannel>>

/** `fd` is for `receiveSockets` in one other thread, which closes it. */
export async function openSocketChannel() {
  const { Pipe, PipeConnectWrap, WriteWrap, constants, streamBaseState, kLastWriteWasAsync } = loadBindings()
  const folder = mkdtempSync(join(tmpdir(), 'cardea-'))
  const server = createServer({ pauseOnConnect: true })
  try {
    const path = join(folder, 'channel')
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve))
    const pipe = new Pipe(constants.IPC)
    pipe.connect(new PipeConnectWrap(), path)
    const receiving = (await accepted).unref()
    return {
      fd: handleOf(receiving)?.fd ?? -1,
      /** `false`: it could not be sent, and still belongs to the caller. */
      send(socket: Socket, text: string): boolean {
        const handle = handleOf(socket)
        if (!handle) return false
        handle.readStop()
        const request = new WriteWrap()
        request.oncomplete = () => void socket.destroy()
        if (pipe.writeUtf8String(request, text, handle) !== 0) return false
        if (!streamBaseState[kLastWriteWasAsync]) socket.destroy()
        return true
      },
      /** Tells the other thread that no connection follows. */
      end: () => void pipe.writeUtf8String(new WriteWrap(), 'end'),
      /** If it was used, the receiving thread closes the file descriptor, whose number may belong to another file then. */
      close(use: 'used' | 'unused'): void {
        pipe.close()
        if (use === 'unused') receiving.destroy()
      },
    }
  } finally {
    server.close()
    rmSync(folder, { recursive: true })
  }
}

/** Calls `take` with each connection of the channel. Each message of the system has one. Resolves after the last one. */
export function receiveSockets(fd: number, take: (socket: Socket, text: string) => void): Promise<void> {
  const { Pipe, constants } = loadBindings()
  const { promise, resolve } = Promise.withResolvers<void>()
  const pipe = new Pipe(constants.IPC)
  pipe.open(fd)
  const onread = function (this: Pipe, bytes?: ArrayBuffer): void {
    const handle = this.pendingHandle
    this.pendingHandle = undefined
    if (!handle || !bytes) return void resolve()
    // the types leave out that a socket can be made of a handle
    const options = { handle, readable: true, writable: true, allowHalfOpen: true } as object
    take(new Socket(options), Buffer.from(bytes).toString())
  }
  pipe.onread = onread
  pipe.readStart()
  return promise
}
