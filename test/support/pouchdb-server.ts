/**
 * A document database in memory, behind a door. It has no authentication of its own: a shim before it verifies the token
 * that Cardea signs, keeps `_security`, and refuses what a CouchDB that requires a valid user would.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { makeFolder, type Scope } from './scope.ts'
import { endFeedsOfClosedConnections, openToken, UPSTREAM_SECRET } from './upstream.ts'

// none of these have types
const load = createRequire(import.meta.url)
const Pouch = load('pouchdb-core').plugin(load('pouchdb-adapter-memory'))

/** Left out: what runs functions of clients on the server. */
const MODE = {
  mode: 'minimumForPouchDB',
  overrideMode: { exclude: ['routes/temp-views', 'routes/view-cleanup', 'routes/views'] },
  inMemoryConfig: true,
}

type Claims = Readonly<Record<string, unknown>>

export interface Database {
  readonly url: string
  readonly port: number
  /** The users who have sent requests. */
  readonly users: ReadonlySet<string>
  /** Methods and targets of all requests. */
  readonly asked: readonly string[]
  /** `_security` by the name of the database, where it was set. */
  readonly securities: Map<string, Security>
  /** Refuses connections until the next call. */
  setDown(isDown: boolean): Promise<void>
  /** Refuses to create databases from now on, with status 400 and this error. */
  refuseCreation(error: string): void
  /** Cuts feeds, and lets new ones wait until the next call. */
  holdFeed(isHeld: boolean): void
  /** Lets documents that are written wait until the next call. */
  holdWrites(isHeld: boolean): void
  /** Writes the next document that is sent, and cuts the connection in place of a reply. */
  cutNextWrite(): void
  /** A database by its name, without the shim. */
  open(name: string): MemoryDatabase
}

export interface Security {
  readonly admins?: { readonly names?: readonly string[]; readonly roles?: readonly string[] }
  readonly members?: { readonly names?: readonly string[]; readonly roles?: readonly string[] }
}

/** That of a new database in CouchDB 3. */
const NEW_SECURITY: Security = { admins: { roles: ['_admin'] }, members: { roles: ['_admin'] } }

export interface MemoryDatabase {
  info(): Promise<object>
  put(document: object): Promise<{ readonly rev: string }>
  get(id: string, options?: object): Promise<Claims>
  remove(id: string, revision: string): Promise<object>
  bulkDocs(documents: readonly object[], options?: object): Promise<object>
  compact(): Promise<object>
}

interface Rules {
  /** Left out: any that is free. */
  readonly port?: number
  /** Of the CouchDB that it greets as. Left out: it greets as itself. */
  readonly version?: string
  readSecret?(): string
  /** Whether the user of the token may send the request. Left out: every user may. */
  mayReach?(claims: Claims, request: IncomingMessage, database: Database): Promise<boolean> | boolean
}

export async function openPouchdbServer(scope: Scope, rules: Rules = {}): Promise<Database> {
  const folder = makeFolder(scope)
  // all servers share the memory: a prefix gives each databases of its own
  const Memory = Pouch.defaults({ adapter: 'memory', prefix: `${folder}/` })
  const users = new Set<string>()
  const asked: string[] = []
  let refused: string | undefined
  const refuseCreation = (error: string) => {
    refused = error
  }
  let held = Promise.withResolvers<void>()
  held.resolve()
  const holdFeed = (isHeld: boolean) => {
    held.resolve()
    if (!isHeld) return
    held = Promise.withResolvers()
    for (const feed of feeds) feed.destroy()
  }
  let heldWrites = Promise.withResolvers<void>()
  heldWrites.resolve()
  const holdWrites = (isHeld: boolean) => {
    heldWrites.resolve()
    if (isHeld) heldWrites = Promise.withResolvers()
  }
  const feeds = new Set<ServerResponse>()
  let isCutDue = false
  const cutNextWrite = () => {
    isCutDue = true
  }
  const app = load('express')()
  const server = createServer(app)
  endFeedsOfClosedConnections(server)
  await new Promise<void>((resolve) => server.listen(rules.port ?? 0, '127.0.0.1', resolve))
  scope.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const securities = new Map<string, Security>()
  const setDown = (isDown: boolean) =>
    new Promise<void>((resolve) => {
      if (!isDown) return void server.listen(port, '127.0.0.1', resolve)
      server.close(() => resolve())
      server.closeAllConnections()
    })
  const open = (name: string) => new Memory(name)
  const database = {
    url: `http://127.0.0.1:${port}`,
    port,
    users,
    asked,
    securities,
    setDown,
    refuseCreation,
    holdFeed,
    holdWrites,
    cutNextWrite,
    open,
  }
  app.use(async (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    if (request.url === '/_up') return reply(response, 200, { status: 'ok' })
    const claims = readClaims(request, rules)
    if (!claims) return reply(response, 401, { error: 'unauthorized', reason: 'not signed by Cardea' })
    users.add(String(claims['sub']))
    asked.push(`${request.method} ${request.url}`)
    delete request.headers.authorization
    if (!((await rules.mayReach?.(claims, request, database)) ?? true))
      return reply(response, 403, { error: 'forbidden', reason: 'You are not allowed to access this db.' })
    const { version } = rules
    if (version && request.url === '/') return reply(response, 200, { couchdb: 'Welcome', version })
    if (/\/_changes\b/.test(request.url ?? '')) {
      await held.promise
      feeds.add(response)
      response.once('close', () => feeds.delete(response))
      endInTime(request, response)
    }
    if (request.method === 'PUT') await heldWrites.promise
    if (isCutDue && request.method === 'PUT' && !/\/_local\//.test(request.url ?? '')) {
      isCutDue = false
      response.end = (() => response.destroy()) as typeof response.end
    }
    const [, name = '', rest] = (request.url ?? '').split(/[/?]/)
    if (rest === '_security') return handleSecurity(request, response, { name, database, Memory })
    if (refused && request.method === 'PUT' && !rest) return reply(response, 400, { error: refused, reason: refused })
    if (request.method === 'DELETE' && !rest) securities.delete(name)
    next()
  })
  app.use('/', load('express-pouchdb')(Memory, { ...MODE, logPath: join(folder, 'log.txt') }))
  return database
}

/** As CouchDB does, unlike the router: a feed that waits longer than the client wants to ends without changes. */
function endInTime(request: IncomingMessage, response: ServerResponse): void {
  const query = new URL(request.url ?? '', 'http://localhost').searchParams
  if (query.get('feed') !== 'longpoll' || !query.has('timeout')) return
  const timer = setTimeout(
    () => {
      // the router has sent the beginning, and watches the database until the connection closes
      if (!response.writableEnded) response.end(`],\n"last_seq":${query.get('since')}}\n`, () => request.socket.end())
    },
    Number(query.get('timeout')),
  )
  response.once('close', () => clearTimeout(timer))
}

interface Secured {
  readonly name: string
  readonly database: Database
  // biome-ignore lint/suspicious/noExplicitAny: PouchDB has no types here
  readonly Memory: any
}

async function handleSecurity(request: IncomingMessage, response: ServerResponse, { name, database, Memory }: Secured) {
  if (!(await Memory.allDbs()).includes(name)) return reply(response, 404, { error: 'not_found', reason: 'missing' })
  if (request.method === 'GET') return reply(response, 200, database.securities.get(name) ?? NEW_SECURITY)
  database.securities.set(name, (await json(request)) as Security)
  reply(response, 200, { ok: true })
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
}

/** Those of a valid token; a page creates the file with the secret while it is followed. */
function readClaims({ headers }: IncomingMessage, { readSecret = () => UPSTREAM_SECRET }: Rules): Claims | undefined {
  try {
    const claims = openToken(headers.authorization, readSecret())
    return Number(claims['exp']) * 1000 > Date.now() ? claims : undefined
  } catch {
    return undefined
  }
}

/** The name that couch_peruser gives a user's database. */
export const toUserDatabase = (name: string): string => `userdb-${Buffer.from(name).toString('hex')}`

/**
 * As in CouchDB, users reach the databases whose `_security` names them, and administrators every database. The greeting
 * of the server, which PouchDB reads, is for all. The path is compared as it was sent: another spelling is refused.
 */
export const bySecurity: NonNullable<Rules['mayReach']> = (claims, { method, url = '' }, { securities }) => {
  if (Object(claims['_couchdb.roles']).includes?.('_admin') || (method === 'GET' && url === '/')) return true
  const [, name = ''] = url.split(/[/?]/)
  return securities.get(name)?.members?.names?.includes(String(claims['sub'])) === true
}
