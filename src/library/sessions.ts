import type { IncomingMessage } from 'node:http'
import { Refusal } from '../base/errors.ts'
import type { Account } from '../directory/account.ts'
import { PROGRAM } from '../directory/caller.ts'
import type { Directory } from '../directory/directory.ts'
import type { SessionOpening } from '../directory/sessions/session.ts'
import type { SessionRecord } from '../directory/store-port/sessions.ts'
import type { App } from '../wiring/app.ts'
import { assertText, requireAwaited, requireLimit, requireMembers, toDate } from './arguments.ts'
import { toLibraryMethods } from './cardea-error.ts'
import { addHeaders, createEmptyRequest, type HeaderSink, readRequest, requireSink } from './requests.ts'

/** A user whose password was right. `cardea.sessions.create` takes it as proof of that. */
export interface VerifiedUser {
  readonly id: string
  readonly name: string
  readonly roles: readonly string[]
  readonly isAdmin: boolean
}

export interface CardeaSession {
  readonly id: string
  /** The user. */
  readonly name: string
  /** `document`, `multi-model` or `admin`: where it was opened. */
  readonly door: string
  readonly createdAt: Date
  /** Exact to the minute. */
  readonly lastSeenAt: Date
  /** The session is over then, unless it is used before. */
  readonly expiresAt: Date
  /** Address and user agent of the client that used it last. */
  readonly peer: string
  readonly userAgent: string
}

export interface CreatedSession {
  readonly id: string
  readonly name: string
  readonly expiresAt: Date
  /** The value of the `Set-Cookie` header. */
  readonly cookie: string
}

export interface CreateSessionOptions {
  /** The request that signs in: its client is listed with the session, and its scheme decides on `Secure`. */
  readonly request?: IncomingMessage | Request
  /** The address of the client, if the request is a web `Request`. */
  readonly peer?: string
  /** The response to it, or its headers: the cookie is set in it. */
  readonly response?: HeaderSink | Headers
}

export interface SessionListOptions {
  /** The `next` of the previous page. */
  readonly after?: string
  /** 1 to 1000; 100 by default. */
  readonly limit?: number
}

export interface SessionPage {
  readonly sessions: readonly CardeaSession[]
  /** The next page begins after it; absent on the last page. */
  readonly next?: string
}

/** The sessions of both doors. Every method throws a `CardeaError` for an expected failure. */
export interface Sessions {
  /**
   * Opens a session of the document door, which `cardea.authenticate` accepts too. With the user that
   * `cardea.users.verifyPassword` returned, it counts as opened with the password. Throws `not_found` for a name that
   * cannot sign in.
   */
  create(user: VerifiedUser | string, options?: CreateSessionOptions): Promise<CreatedSession>
  /** The live sessions of a user, the newest first. */
  list(name: string, options?: SessionListOptions): Promise<SessionPage>
  /** Ends a session on every node at once, whatever door opened it. `false`: no live session has this id. */
  revoke(id: string): Promise<boolean>
  /** Ends all sessions of a user but the one with the id `kept`. Returns how many. Access tokens stay valid. */
  revokeAll(name: string, options?: { readonly kept?: string }): Promise<number>
  /** Ends all sessions of a user but the one of the request: `request.user` as `cardea.authenticate` returned it. */
  revokeOthers(user: { readonly name: string | null; readonly sessionId?: string }): Promise<number>
  /** Removes the session cookie from the browser. Call it after `revoke`. */
  clearCookie(response: HeaderSink | Headers, options?: Pick<CreateSessionOptions, 'request' | 'peer'>): Promise<void>
}

/** `verified` has the account of each user that `verifyPassword` returned. */
export const createLibrarySessions = (app: App, verified: WeakMap<VerifiedUser, Account>): Sessions =>
  toLibraryMethods<Sessions>({
    create: async (user, options = {}) =>
      createSession(app, user, typeof user === 'string' ? undefined : verified.get(user), options),
    list: (name, options = {}) => listSessions(app.directory, name, options),
    async revoke(id) {
      assertText(id, 'id')
      return (await app.directory.revokeSession(id, PROGRAM)) !== undefined
    },
    async revokeAll(name, options = {}) {
      assertText(name, 'name')
      requireMembers(options, 'options', ['kept'])
      if (options.kept !== undefined) assertText(options.kept, 'kept')
      return app.directory.revokeSessions(name, PROGRAM, options.kept)
    },
    async revokeOthers(user) {
      requireAwaited(user, 'the user')
      assertText(user?.name, 'the name of the user')
      // without an id, the session of the request would end too
      assertText(user.sessionId, 'the sessionId of the user')
      return app.directory.revokeSessions(user.name, PROGRAM, user.sessionId)
    },
    async clearCookie(response, options = {}) {
      requireMembers(options, 'options', ['request', 'peer'])
      requireSink(response)
      const { request, peer } = options
      const incoming = request ? readRequest(request, 'sessions.clearCookie', peer) : createEmptyRequest()
      addHeaders(response, [await app.runFor(incoming, async (context) => app.signIn.clear(context))])
    },
  })

async function createSession(
  app: App,
  user: VerifiedUser | string,
  verified: Account | undefined,
  options: CreateSessionOptions,
): Promise<CreatedSession> {
  requireMembers(options, 'options', ['request', 'peer', 'response'])
  if (options.response) requireSink(options.response)
  requireAwaited(user, 'the user')
  const name = typeof user === 'string' ? user : user?.name
  assertText(name, 'the name of the user')
  const account = verified ?? (await app.directory.findAccount(name))
  if (!account) throw new Refusal('not_found', { reason: `No active user has the name ${name}.` })
  const request = options.request ? readRequest(options.request, 'sessions.create', options.peer) : createEmptyRequest()
  const opened = await app.runFor(request, (context) =>
    app.signIn.open(account, context, verified ? undefined : UNPROVED),
  )
  if (options.response) addHeaders(options.response, [opened.header])
  return { id: opened.id, name, expiresAt: toDate(opened.expiresAt), cookie: opened.header[1] }
}

/** The program has not shown the password of the user. */
const UNPROVED: SessionOpening = { hasPassword: false, hasFactor: false }

const DEFAULT_LIMIT = 100

async function listSessions(directory: Directory, name: string, options: SessionListOptions): Promise<SessionPage> {
  assertText(name, 'name')
  requireMembers(options, 'options', ['after', 'limit'])
  const { after, limit = DEFAULT_LIMIT } = options
  requireLimit(limit)
  const { sessions, next } = await directory.listSessions({
    name,
    limit,
    ...(after !== undefined && { after: readPlace(after) }),
  })
  return { sessions: sessions.map(toCardeaSession), ...(next && { next: `${next.createdAt}:${next.id}` }) }
}

const PLACE = /^(\d{1,15}):(.+)$/

function readPlace(after: unknown): Pick<SessionRecord, 'createdAt' | 'id'> {
  assertText(after, 'after')
  const [, createdAt, id] = PLACE.exec(after) ?? []
  if (createdAt === undefined || id === undefined)
    throw new Refusal('bad_request', { reason: 'after must be the next of the previous page.' })
  return { createdAt: Number(createdAt), id }
}

const toCardeaSession = ({ id, name, door, peer, userAgent, ...times }: SessionRecord): CardeaSession => ({
  id,
  name,
  door,
  createdAt: toDate(times.createdAt),
  lastSeenAt: toDate(times.seenAt),
  expiresAt: toDate(times.expiresAt),
  peer,
  userAgent,
})
