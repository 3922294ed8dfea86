/**
 * Requests that a worker thread passes to the main thread, which handles them as its own: over HTTP, through a Unix
 * socket in a folder that only this user can enter. A header of the request says what that connection changes about it,
 * one of the response what the main thread has decided. The main thread asks for the body with `100 Continue` when it
 * reads it: until then the body is unread, as it is without worker threads.
 */
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request, type ServerOptions, type ServerResponse } from 'node:http'
import { createConnection, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { attempt, codeOf, Refusal } from '../base/errors.ts'
import { MAX_UPSTREAM_HEADER_BYTES, toPairs } from '../base/header-pairs.ts'
import { RelayNeeded } from '../base/relay-needed.ts'
import { isAccount } from '../directory/account.ts'
import { type AuthenticatedRequest, isAnonymous } from '../directory/identity.ts'
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
  readonly httpVersion: string
  /** The headers about its connection, names and values in turn. */
  readonly hopHeaders: readonly string[]
  /** How many of its other headers follow, with their values. Node adds headers of its own after them. */
  readonly length: number
}

/** What the main thread says about a reply. */
interface Decision {
  /** Whether it has accepted the credential of the request. */
  readonly isAccepted: boolean
  /** Set if the credential was the password of this account. */
  readonly account?: KnownAccount | undefined
  /** The connection of the client ends with the reply. */
  readonly isLast: boolean
  readonly isFeed: boolean
}

const CLIENT_HEADER = 'x-cardea-relayed-client'
const DECISION_HEADER = 'x-cardea-decision'

/** About one connection, or set by Node for each. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'expect',
  CLIENT_HEADER,
  DECISION_HEADER,
])

const toText = (value: object): string => encodeURIComponent(JSON.stringify(value))

/** Only for texts that `toText` has made, in this process. */
const readText = <T>(text: string | undefined): T => JSON.parse(decodeURIComponent(text ?? '')) as T

export type Relay = (context: RequestContext, why?: unknown) => Promise<Reply>

/** Gets the `Authorization` header of a request whose password the main thread has accepted. */
export type OnKnown = (header: string, account: KnownAccount) => void

/** `beforeRelay` is called with each request, before it is sent. */
export function createRelay(socketPath: string, door: string, beforeRelay: () => OnKnown): Relay {
  const agent = new Agent({ keepAlive: true })
  return (context, why) => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    const onKnown = beforeRelay()
    const outgoing = request({
      socketPath,
      agent,
      method: context.method,
      path: context.target,
      headers: toRelayedHeaders(context, door),
      // twice: Cardea adds headers to those of the upstream
      maxHeaderSize: 2 * MAX_UPSTREAM_HEADER_BYTES,
    })
    // zero: Node would drop the headers above this number
    outgoing.maxHeadersCount = 0
    const stopBody = sendBody(context, outgoing, reject)
    outgoing.once('response', (incoming) => {
      incoming.once('end', () => {
        stopBody()
        // the main thread reads no more of it
        if (!outgoing.writableFinished) outgoing.destroy()
      })
      try {
        const decision = readText<Decision>(String(incoming.headers[DECISION_HEADER]))
        learn(decision, context, why, onKnown)
        resolve(toReply(incoming, decision))
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

function learn({ isAccepted, account }: Decision, context: RequestContext, why: unknown, onKnown: OnKnown): void {
  if (isAccepted && why instanceof RelayNeeded) why.onAccepted?.()
  const header = context.header('authorization')
  if (header !== undefined && account) onKnown(header, account)
}

function toRelayedHeaders({ client, httpVersion, rawHeaders, hasBody }: RequestContext, door: string): string[] {
  const { directAddress, scheme } = client
  const hopHeaders = selectHeaders(rawHeaders, isHopOfRequest)
  const others = selectHeaders(rawHeaders, (name) => !isHopOfRequest(name))
  const { length } = others
  const relayed: RelayedClient = { directAddress, scheme, door, httpVersion, hopHeaders, length }
  return [CLIENT_HEADER, toText(relayed), ...others, ...(hasBody ? ['Expect', '100-continue'] : [])]
}

/** Sends the body when the main thread asks for it. Returns a function that stops it. */
function sendBody(context: RequestContext, outgoing: ReturnType<typeof request>, fail: (error: unknown) => void) {
  let body: ReturnType<RequestContext['openBody']>
  const giveUp = (error: unknown) => {
    fail(error)
    outgoing.destroy()
  }
  if (!context.hasBody) outgoing.end()
  else {
    outgoing.once('continue', () => {
      try {
        body = context.openBody('main-thread')
        body?.once('error', giveUp).pipe(outgoing)
      } catch (error) {
        // a limit of this thread may be lower for a moment than that of the main thread
        giveUp(error)
      }
    })
    // `flushHeaders` would send it as UTF-8, and change the bytes of headers that have others than those of ASCII
    outgoing.write(Buffer.alloc(0))
  }
  return () => void body?.destroy()
}

const isHopHeader = (name: string): boolean => HOP_HEADERS.has(name)
/** Node throws if a head announces trailers and the body has no chunks. */
const isHopOfRequest = (name: string): boolean => isHopHeader(name) || name === 'trailer'
/** The framing of a response is Node's business, which knows the version of the client. */
const isResponseHeader = (name: string): boolean => !isHopHeader(name) && name !== 'transfer-encoding'

const selectHeaders = (flat: readonly string[], isChosen: (name: string) => boolean): string[] =>
  flat.filter((_, index) => isChosen((flat[index - (index % 2)] ?? '').toLowerCase()))

const toReply = (incoming: IncomingMessage, { isLast, isFeed }: Decision): Reply => ({
  status: incoming.statusCode ?? 500,
  reason: incoming.statusMessage ?? '',
  headers: toPairs(selectHeaders(incoming.rawHeaders, isResponseHeader)),
  body: toStream(incoming, isFeed),
  relayed: { isLast },
})

const toStream = (incoming: IncomingMessage, isFeed: boolean): ResponseStream => ({
  kind: 'response-stream',
  isFeed,
  pipeTo(sink, end, breakOff) {
    incoming.once('end', () => {
      if (incoming.rawTrailers.length > 0) sink.addTrailers(toPairs(incoming.rawTrailers))
      end()
    })
    incoming.once('close', () => incoming.complete || breakOff(sink))
    incoming.pipe(sink, { end: false })
  },
  discard: () => void incoming.destroy(),
})

const relayed = new WeakSet<Socket>()

/** Whether the requests of this connection come from a worker thread. */
export const isRelayed = (socket: Socket): boolean => relayed.has(socket)

/** For the worker thread that relayed a request. */
export function decisionHeaders(
  { authenticated }: RequestContext,
  reply: Pick<Decision, 'isLast' | 'isFeed'>,
): readonly string[] {
  const accepted = isAnonymous(authenticated) ? undefined : authenticated
  const account = accepted && toKnown(accepted)
  return [DECISION_HEADER, toText({ ...reply, isAccepted: accepted !== undefined, account } satisfies Decision)]
}

function toKnown({ identity, credential }: AuthenticatedRequest): KnownAccount | undefined {
  if (credential.kind.provesPassword !== 'itself' || !isAccount(identity)) return undefined
  const { name, version, sessionEpoch } = identity
  return { name, version, generation: sessionEpoch.generation }
}

interface RelayTarget {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
}

const FOLDER_PREFIX = 'cardea-relay-'
const SOCKET_NAME = 'socket'

/** The listener of the main thread. Its connections stay open while the process runs. */
export async function openRelayListener(findDoor: (name: string) => RelayTarget | undefined, options: ServerOptions) {
  await removeLeftFolders()
  const folder = mkdtempSync(join(tmpdir(), FOLDER_PREFIX))
  const path = join(folder, SOCKET_NAME)
  // twice: the header about the client takes more than the headers it has
  const maxHeaderSize = 2 * (options.maxHeaderSize ?? 0)
  const server = createServer({ ...options, maxHeaderSize, keepAliveTimeout: 0, headersTimeout: 0 })
  server.maxHeadersCount = 0
  const handle = (incoming: IncomingMessage, response: ServerResponse): void => {
    const { door, directAddress, scheme } = restoreHead(incoming)
    relayed.add(incoming.socket)
    announceClient(incoming.socket, directAddress, scheme)
    // the worker thread adds it, in its place
    response.sendDate = false
    void findDoor(door)?.handle(incoming, response)
  }
  server.on('request', handle).on('checkContinue', handle)
  await once(server.listen(path), 'listening')
  return {
    path,
    close(): void {
      server.close()
      server.closeAllConnections()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Gives a request the head that the client has sent, in place of that of this connection. */
function restoreHead(incoming: IncomingMessage): RelayedClient {
  // Node reads these from the raw headers on first use
  const { headers, headersDistinct, rawHeaders } = incoming
  const client = readText<RelayedClient>(rawHeaders[1])
  const added = rawHeaders.splice(2 + client.length, rawHeaders.length, ...client.hopHeaders)
  for (const [name] of toPairs([...rawHeaders.splice(0, 2), ...added])) {
    delete headers[name.toLowerCase()]
    delete headersDistinct[name.toLowerCase()]
  }
  for (const [name, value] of toPairs(client.hopHeaders)) {
    const values = [...(headersDistinct[name.toLowerCase()] ?? []), value]
    headersDistinct[name.toLowerCase()] = values
    headers[name.toLowerCase()] = values.join(', ')
  }
  if (client.httpVersion === '1.0') incoming.httpVersion = client.httpVersion
  return client
}

/** A process that was killed leaves its folder behind: nothing accepts connections at its socket. */
async function removeLeftFolders(): Promise<void> {
  // it need not be readable: left folders stay then
  const all = attempt(() => readdirSync(tmpdir())) ?? []
  for (const name of all.filter((entry) => entry.startsWith(FOLDER_PREFIX))) {
    const folder = join(tmpdir(), name)
    const isOwn = statSync(folder, { throwIfNoEntry: false })?.uid === process.getuid?.()
    const isLeft = isOwn && (await probeSocket(join(folder, SOCKET_NAME))) === 'ECONNREFUSED'
    if (isLeft) rmSync(folder, { recursive: true, force: true })
  }
}

/** Why nothing accepts connections at a Unix socket, as a code of the system; empty: something does. */
export async function probeSocket(path: string): Promise<string> {
  const probe = createConnection({ path })
  try {
    await once(probe, 'connect')
    return ''
  } catch (error) {
    return codeOf(error)
  } finally {
    probe.destroy()
  }
}
