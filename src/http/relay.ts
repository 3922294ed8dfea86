/**
 * Requests that a worker thread passes to the main thread, which handles them as its own: over HTTP, through a Unix
 * socket in a folder that only this user can enter. A header of the request describes the client, one of the response
 * what the main thread has accepted.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request, type ServerOptions, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal } from '../base/errors.ts'
import { toPairs } from '../base/header-pairs.ts'
import { RelayNeeded } from '../base/relay-needed.ts'
import { isAccount } from '../directory/account.ts'
import { isAnonymous } from '../directory/identity.ts'
import type { Client, Reply, RequestContext, ResponseStream } from './request-context.ts'
import { announceClient } from './trust.ts'

/** The account whose password the main thread has found right. */
export interface KnownAccount {
  readonly name: string
  readonly version: string
  readonly generation: number
}

interface RelayedClient extends Pick<Client, 'directAddress' | 'scheme'> {
  readonly door: string
}

const CLIENT_HEADER = 'x-cardea-relayed-client'
const ACCEPTED_HEADER = 'x-cardea-accepted'

/** About one connection, or set by Node for each. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  CLIENT_HEADER,
  ACCEPTED_HEADER,
])

const toText = (value: object): string => encodeURIComponent(JSON.stringify(value))

/** Only for texts that `toText` has made, in this process. */
const readText = <T>(text: string): T => JSON.parse(decodeURIComponent(text)) as T

export type Relay = (context: RequestContext, why?: unknown) => Promise<Reply>

/** Gets the `Authorization` header of a request whose password the main thread has accepted. */
export type OnKnown = (header: string, account: KnownAccount) => void

/** `beforeRelay` is called with each request, before it is sent. */
export function createRelay(socketPath: string, door: string, beforeRelay: () => OnKnown): Relay {
  const agent = new Agent({ keepAlive: true })
  const learn = (accepted: string | undefined, context: RequestContext, why: unknown, onKnown: OnKnown) => {
    if (accepted === undefined) return
    if (why instanceof RelayNeeded) why.onAccepted?.()
    const header = context.header('authorization')
    const { account } = readText<{ account?: KnownAccount }>(accepted)
    if (header !== undefined && account) onKnown(header, account)
  }
  return (context, why) => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    const onKnown = beforeRelay()
    const { directAddress, scheme } = context.client
    const client = toText({ directAddress, scheme, door } satisfies RelayedClient)
    const outgoing = request({
      socketPath,
      agent,
      method: context.method,
      path: context.target,
      headers: [CLIENT_HEADER, client, ...withoutHopHeaders(context.rawHeaders, isRequestHeader)],
    })
    const body = sendBody(context, outgoing, reject)
    outgoing.once('response', (incoming) => {
      const { [ACCEPTED_HEADER]: accepted } = incoming.headers
      incoming.once('close', () => body()?.destroy())
      try {
        learn(Array.isArray(accepted) ? accepted[0] : accepted, context, why, onKnown)
        resolve(toReply(incoming))
      } catch (error) {
        incoming.destroy()
        reject(error)
      }
    })
    outgoing.on('error', (cause) => reject(new Refusal('shutting_down', { cause, retryAfterSeconds: 1 })))
    context.onGone(() => outgoing.destroy())
    return promise
  }
}

/** Sends the body, if there is one; after `Expect` only when the main thread asks for it. Returns a way to find it. */
function sendBody(context: RequestContext, outgoing: ReturnType<typeof request>, fail: (error: Error) => void) {
  let body: ReturnType<RequestContext['openBody']>
  const send = () => {
    body = context.openBody()
    if (!body) return void outgoing.end()
    body.once('error', (error) => {
      fail(error)
      outgoing.destroy()
    })
    // the main thread may refuse it before the first byte
    sendHead(outgoing)
    body.pipe(outgoing)
  }
  if (context.header('expect')?.toLowerCase() === '100-continue') {
    outgoing.once('continue', send)
    sendHead(outgoing)
  } else send()
  return () => body
}

/** `flushHeaders` would send it as UTF-8, and change the bytes of headers that have others than those of ASCII. */
const sendHead = (outgoing: ReturnType<typeof request>): void => void outgoing.write(Buffer.alloc(0))

const isRequestHeader = (name: string): boolean => !HOP_HEADERS.has(name) && !name.startsWith(':')
/** The framing of a response is Node's business, which knows the version of the client. */
const isResponseHeader = (name: string): boolean => !HOP_HEADERS.has(name) && name !== 'transfer-encoding'

const withoutHopHeaders = (flat: readonly string[], isKept: (name: string) => boolean): string[] =>
  flat.filter((_, index) => isKept((flat[index - (index % 2)] ?? '').toLowerCase()))

function toReply(incoming: IncomingMessage): Reply {
  const headers = toPairs(withoutHopHeaders(incoming.rawHeaders, isResponseHeader))
  return {
    status: incoming.statusCode ?? 500,
    reason: incoming.statusMessage ?? '',
    headers,
    body: toStream(incoming),
    relayed: { isLast: incoming.headers.connection === 'close' },
  }
}

const toStream = (incoming: IncomingMessage): ResponseStream => ({
  kind: 'response-stream',
  // what the main thread sends piece by piece
  isFeed: incoming.headers['transfer-encoding'] !== undefined,
  pipeTo(sink, end, breakOff) {
    incoming.once('close', () => {
      if (!incoming.complete) return breakOff(sink)
      if (incoming.rawTrailers.length > 0) sink.addTrailers(toPairs(incoming.rawTrailers))
      end()
    })
    incoming.pipe(sink, { end: false })
  },
  discard: () => void incoming.destroy(),
})

const relayed = new WeakSet<Socket>()

/** Whether the requests of this connection come from a worker thread. */
export const isRelayed = (socket: Socket): boolean => relayed.has(socket)

/** For the worker thread that relayed a request: what the main thread has accepted. Other responses have no such header. */
export function acceptedHeaders(socket: Socket, context: RequestContext | undefined): readonly string[] {
  if (!isRelayed(socket) || !context || isAnonymous(context.authenticated)) return []
  const { identity, credential } = context.authenticated
  const isByPassword = credential.kind.provesPassword === 'itself' && isAccount(identity)
  const { name, version, sessionEpoch } = isByPassword ? identity : { name: '', version: '', sessionEpoch: undefined }
  const account = sessionEpoch && { name, version, generation: sessionEpoch.generation }
  return [ACCEPTED_HEADER, toText({ account })]
}

interface RelayTarget {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** The listener of the main thread. Its connections stay open while the process runs. */
export async function openRelayListener(findDoor: (name: string) => RelayTarget | undefined, options: ServerOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-'))
  const path = join(folder, 'relay')
  const server = createServer({ ...options, keepAliveTimeout: 0, headersTimeout: 0 })
  server.maxHeadersCount = 0
  const handle = (incoming: IncomingMessage, response: ServerResponse): void => {
    const { door, directAddress, scheme } = readText<RelayedClient>(takeHeader(incoming))
    relayed.add(incoming.socket)
    announceClient(incoming.socket, directAddress, scheme)
    void findDoor(door)?.handle(incoming, response)
  }
  server.on('request', handle).on('checkContinue', handle).on('checkExpectation', handle)
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  return {
    path,
    close(): void {
      server.close()
      server.closeAllConnections()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Removes the header, which is always the first. */
function takeHeader(incoming: IncomingMessage): string {
  const [, text = ''] = incoming.rawHeaders.splice(0, 2)
  delete incoming.headers[CLIENT_HEADER]
  return text
}
