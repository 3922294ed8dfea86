/**
 * What Cardea uses of Node although it is not documented: a later Node may lack it. Each row is looked for once, and its
 * place asks `isUsable` and has another way, which is slower or stricter.
 */
import { createServer } from 'node:http'
import { performServerHandshake } from 'node:http2'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { attempt } from '../errors.ts'
import { isKnownNode } from '../product.ts'

/** What the rows look at; a part that this Node cannot make is `undefined`. */
type Specimens = ReturnType<typeof createSpecimens>

interface Internal {
  readonly probe: (specimens: Specimens) => boolean | undefined
  /** What is different without it, for the log. */
  readonly without: string
}

const INTERNALS = {
  'parser-input': {
    probe: ({ parser }) => parser?.hasInput,
    without: 'pipelined requests wait as objects instead of bytes, which takes more memory',
  },
  'shared-buffer': {
    probe: ({ socket, handle }) =>
      ['kBuffer', 'kBufferCb'].every((name) => findSymbol(socket, name)) && hasMethods(handle, 'useUserBuffer'),
    without: 'each read from a connection allocates memory',
  },
  'chunk-count': {
    probe: ({ parser }) => parser?.countsChunks,
    without: 'bodies in tiny chunks take more CPU time until they are rejected',
  },
  'body-drop': {
    probe: ({ parser }) => parser?.dropsChunks,
    without: 'the rest of a rejected body takes more CPU time',
  },
  'session-start': {
    probe: ({ handle, hasSession }) => hasMethods(handle, 'readStart', 'readStop') && hasSession,
    without: 'HTTP/2 is off, because a client could end the process: clients get HTTP/1.1',
  },
  'ended-connections': {
    probe: ({ socket }) => typeof Reflect.get(socket, '_readableState').ended === 'boolean',
    without: 'connections that their clients have ended are served, which takes more CPU time',
  },
  'ends-in-turn': {
    probe: ({ socket }) => typeof socket._destroy === 'function',
    without: 'connections of HTTP/2 that end together may delay others',
  },
  'late-write-errors': {
    probe: ({ socket }) => typeof socket._write === 'function',
    without: 'the response of an upstream that closes the connection during an upload may be lost: clients get 502',
  },
  'unsent-bytes': {
    probe: ({ handle = {} }) => ['writeQueueSize', 'fd'].every((name) => typeof Reflect.get(handle, name) === 'number'),
    without: 'a client on a slow line may be disconnected as stalled',
  },
  'unconfirmed-connections': {
    // the messages are those of a worker process, and there may be none
    probe: () => isKnownNode(),
    without: 'a client whose connection was given to a worker process that ends at that moment waits until it gives up',
  },
  'v8-flags': {
    // V8 does not say which flags it has, and writes an error to the terminal for others
    probe: () => isKnownNode(),
    without: 'V8 has its default settings, with which requests take more CPU time',
  },
} satisfies Record<string, Internal>

export type InternalName = keyof typeof INTERNALS

export const INTERNAL_NAMES = Object.keys(INTERNALS) as InternalName[]

let missing: ReadonlySet<InternalName> | undefined

/** Looks for everything again. Tests name what must be missing. */
export function probeInternals(forced: readonly InternalName[] = []): void {
  const specimens = createSpecimens()
  const rows: Readonly<Record<InternalName, Internal>> = INTERNALS
  const isMissing = (name: InternalName) => forced.includes(name) || attempt(() => rows[name].probe(specimens)) !== true
  missing = new Set(INTERNAL_NAMES.filter(isMissing))
}

function findMissing(): ReadonlySet<InternalName> {
  if (missing === undefined) probeInternals()
  return missing ?? new Set(INTERNAL_NAMES)
}

export const isInternalUsable = (name: InternalName): boolean => !findMissing().has(name)

/** One sentence for each that this Node lacks, or that is unknown of it. */
export const describeMissing = (): string[] =>
  [...findMissing()].map(
    (name) =>
      `an internal of Node that Cardea uses, ${name}, is not in ${process.versions.node}: ${INTERNALS[name].without}`,
  )

export const findSymbol = (owner: object, name: string): symbol | undefined =>
  Object.getOwnPropertySymbols(owner).find(({ description }) => description === name)

/** Removes the callback for chunks of bodies. Returns a function that restores it; `undefined`: there is none. */
export function removeBodyCallback(parser: Record<string, unknown>): (() => void) | undefined {
  const [key, callback] = Object.entries(parser).find(([, value]) => isBodyCallback(value)) ?? []
  if (key === undefined) return undefined
  parser[key] = undefined
  return () => {
    parser[key] = callback
  }
}

const isBodyCallback = (value: unknown): boolean => typeof value === 'function' && value.name === 'parserOnBody'

/** Takes 10 to 20 ms of CPU time at the start, most of it because these parts of Node are used for the first time. */
const createSpecimens = () => ({
  socket: new Socket(),
  handle: attempt(openHandle),
  parser: attempt(probeParser),
  hasSession: attempt(probeSession),
})

/** The handle of a TCP connection. Node creates it at once, and would connect in the next tick. */
function openHandle(): object {
  const socket = new Socket().connect({ host: '127.0.0.1', port: 1 })
  const handle = Reflect.get(socket, '_handle')
  socket.destroy()
  return handle
}

const hasMethods = (handle: object = {}, ...names: readonly string[]): boolean =>
  names.every((name) => typeof Reflect.get(handle, name) === 'function')

/** Gives a request to the parser of a connection that is not open. */
function probeParser(): { hasInput: boolean; countsChunks: boolean; dropsChunks: boolean } {
  const chunks: string[] = []
  let hasInput = false
  const server = createServer((request) => {
    hasInput = request.method === 'POST'
    request.push = (chunk) => chunks.push(String(chunk)) > 0
  })
  const socket = new Socket()
  server.emit('connection', socket)
  const parser: Record<string, unknown> | undefined = Reflect.get(socket, 'parser')
  const [parse] = socket.listeners('data')
  parse?.(Buffer.from('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n'))
  const countsChunks = chunks.join() === 'a'
  const restore = parser && removeBodyCallback(parser)
  parse?.(Buffer.from('1\r\nb\r\n'))
  restore?.()
  socket.destroy()
  return {
    hasInput: hasInput && typeof parser === 'object',
    countsChunks,
    dropsChunks: restore !== undefined && chunks.join() === 'a',
  }
}

function probeSession(): boolean {
  const session = performServerHandshake(new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() }))
  const key = findSymbol(session, 'kHandle')
  const receive = key && Reflect.get(Reflect.get(session, key), 'receive')
  session.destroy()
  return typeof receive === 'function'
}
