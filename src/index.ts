/**
 * Cardea as a library: the same doors inside another Node program, or in the tests of one.
 *
 * @example
 * const cardea = await createCardea({ options: { admins: { ada: 'analytical engine' } } })
 * const { document } = await cardea.listen()
 */
import './require-node.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJsonObject } from './base/json.ts'
import { type Log, SILENT_LOG } from './base/log.ts'
import { toFlags } from './config/flags.ts'
import { STRICT_DEFAULTS } from './config/layers.ts'
import type { OpenSection } from './config/option-table.ts'
import type { Config, NamedValues } from './config/options.ts'
import { idOf, isAccount } from './directory/account.ts'
import { type AuthenticatedRequest, hasAllRights } from './directory/identity.ts'
import type { ToClaims } from './gateway/identity-headers.ts'
import { StartError } from './kernel/start-error.ts'
import { type FetchOptions, fetchDoor, findParsedBody, toAccountRequest } from './library/account.ts'
import { checkOptions } from './library/arguments.ts'
import { CardeaError, withCardeaErrors } from './library/cardea-error.ts'
import type { Credentials } from './library/credentials.ts'
import type { Events } from './library/events.ts'
import { addHeaders, type HeaderSink, readGuess, readRequest, requireSink, serveNode } from './library/requests.ts'
import type { Sessions } from './library/sessions.ts'
import type { OtherMembers } from './library/user-values.ts'
import type { Users } from './library/users.ts'
import { ConfigError } from './live-config/load.ts'
import type { ReloadReport } from './live-config/reload.ts'
import type { Addresses, DoorName } from './wiring/app.ts'

export type { Log, LogFields } from './base/log.ts'
export type { Problem } from './config/problems.ts'
export type { ServiceUser, ToClaims } from './gateway/identity-headers.ts'
export type { FetchOptions } from './library/account.ts'
export type {
  AccessTokens,
  CardeaAccessToken,
  NewAccessToken,
  SecondFactor,
} from './library/credentials.ts'
export type { CardeaEvent, Events } from './library/events.ts'
export type { HeaderSink } from './library/requests.ts'
export type {
  CardeaSession,
  CreatedSession,
  CreateSessionOptions,
  SessionListOptions,
  SessionPage,
  Sessions,
  VerifiedUser,
} from './library/sessions.ts'
export type { CardeaUser, Grants, NewUser, OtherMembers, UserChange } from './library/user-values.ts'
export type {
  ChangedPassword,
  PasswordCheck,
  PasswordCheckOptions,
  UserListOptions,
  UserPage,
  Users,
} from './library/users.ts'
export type { ReloadReport } from './live-config/reload.ts'
export type { ClientOptions } from './modules/module.ts'
export type * from './modules.ts'
export type { Addresses, DoorName } from './wiring/app.ts'
export { CardeaError, ConfigError, StartError }

/** What may be written for a value of this type: lists and places as text, as in a file. */
type Written<T> = T extends boolean | string ? T : T extends number ? number | string : string

type WrittenSection<V> = { readonly [K in keyof V]?: Written<V[K]> }
type OwnOptions = { readonly [S in keyof Config]?: WrittenSection<Config[S]> }
type OpenOptions = { readonly [S in OpenSection]?: Readonly<Record<string, string>> }
type NamedOptions = { readonly [K in keyof NamedValues as `${K}:${string}`]: WrittenSection<NamedValues[K]> }

/** Options by section and name, as a configuration file has them. */
export type CardeaOptions = OwnOptions & OpenOptions & NamedOptions

export interface CreateCardea {
  readonly options?: CardeaOptions
  /** Configuration files or folders to read first. */
  readonly files?: readonly string[]
  /** Environment to read `CARDEA_…` from; none unless given. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Silent unless given. */
  readonly log?: Log
  /** Further claims in the tokens for services. Called once for a token, which is used for some minutes. */
  readonly claims?: ToClaims
}

/** The user of a request. */
export interface AuthenticatedUser {
  /** Never changes, and no later user of the name has it. Absent for a name that another issuer or a proxy asserts. */
  readonly id?: string
  /** `null`: a superuser token, which has no user name. */
  readonly name: string | null
  readonly roles: readonly string[]
  readonly isAdmin: boolean
  /** The credential handler that accepted it: `cookie`, `jwt`, `default`, `bearer`, … */
  readonly by: string
  /** The session of the request, for `cardea.sessions.revoke`; absent where the credential has none. */
  readonly sessionId?: string
}

export interface AuthenticateOptions {
  /** The door whose credentials are accepted: the document door by default. */
  readonly door?: DoorName
  /**
   * The name of your application as a service. An access token that is limited to some services is accepted only with
   * the name of one of them; without a name it is rejected.
   */
  readonly service?: string
  /**
   * Origins of other sites, such as `https://shop.example.com`, whose pages may send a form with the credentials of a
   * browser. Such a form of any other origin is rejected with 403, as by the doors. None by default.
   */
  readonly origins?: readonly string[]
  /**
   * The response to the request, or its headers. A session cookie that is due for renewal is renewed in it, as the
   * doors do. Without it the session ends `chttpd_auth.timeout` seconds after the client last used a door.
   */
  readonly response?: HeaderSink | Headers
  /** The address of the client. Required for a web `Request` with a password: failed attempts count for it. */
  readonly peer?: string
}

export interface Authenticator {
  /**
   * The user of a request to your own server; `undefined` if it is anonymous or its credential is wrong. Throws a
   * `CardeaError` if a page of another origin could have sent it without a preflight, with the credentials of a browser
   * (`cross_origin`, 403), and if Cardea cannot decide now. Throws if Cardea is closed. Reads only the headers.
   */
  authenticate(
    request: IncomingMessage | Request,
    options?: AuthenticateOptions,
  ): Promise<AuthenticatedUser | undefined>
}

/** `Members`: the type of the other members of your users. */
export interface Cardea<Members extends object = OtherMembers> extends Authenticator, AsyncDisposable, Credentials {
  readonly users: Users<Members>
  readonly sessions: Sessions
  readonly events: Events
  /** Opens both doors at the configured addresses. */
  listen(): Promise<Addresses>
  /** Handles one request of your own server, by the rules of one door. */
  handle(request: IncomingMessage, response: ServerResponse, door?: DoorName): Promise<void>
  /**
   * Handles a web `Request`: by the rules of a door, or with the routes for sign-up, sign-in and the user's own account below
   * `path`. `peer` is the address of the client, or of the proxy before this program.
   */
  fetch(request: Request, options: FetchOptions): Promise<Response>
  /**
   * Serves the routes for sign-up, sign-in and the user's own account. The URL of the request is the path below the one where
   * they are mounted: `/sign-in`. `cardea/express` and `cardea/fastify` call it.
   */
  handleAccount(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Reloads files and environment, as SIGHUP does. */
  reload(): Promise<ReloadReport>
  /** Waits for running requests and closes everything. */
  close(): Promise<void>
}

/**
 * Throws a `ConfigError` that holds every problem of the options, a `StartError` for whatever else is missing. Where
 * neither files, environment nor options say otherwise, new passwords need 12 characters and cookies have SameSite=Lax,
 * as in a folder made by `cardea init`. Passwords in `options.admins` obey the rules too; hashes are not checked.
 */
export const createCardea = <Members extends object = OtherMembers>(given: CreateCardea = {}) =>
  toReminder(openCardea<Members>(given), 'createCardea')

const MEMBERS = [
  ...(['users', 'sessions', 'events', 'listen', 'handle', 'fetch', 'handleAccount', 'authenticate', 'reload'] as const),
  ...(['close', 'accessTokens', 'secondFactor'] as const),
] satisfies (keyof Cardea)[]

/** Members that modules add. Their names are not known here: a program loads the modules later. */
const MEMBERS_OF_MODULES = ['mail', 'passwordLinks']

/** The promise itself. If a program forgot `await`, the first member that it uses says so. */
function toReminder<T>(promise: Promise<T>, caller: string): Promise<T> {
  const get = () => {
    throw new TypeError(`${caller} returns a promise: const cardea = await ${caller}(…)`)
  }
  return Object.defineProperties(
    promise,
    Object.fromEntries([...MEMBERS, ...MEMBERS_OF_MODULES].map((name) => [name, { get }])),
  )
}

async function openCardea<Members extends object>(given: CreateCardea, isTest = false): Promise<Cardea<Members>> {
  checkGiven(given)
  // loaded here: an older Node cannot link these modules, and would fail before it reports which version is needed
  const { findConfigFolder, openConfiguration, openProgramConfiguration } = await import('./live-config/load.ts')
  const { OPTION_TABLE: table } = await import('./module-options.ts')
  const { createApp } = await import('./wiring/app.ts')
  const { ACCEPTED } = await import('./auth/credential.ts')
  const { createCredentials } = await import('./library/credentials.ts')
  const { createEvents } = await import('./library/events.ts')
  const { createUsersAndSessions } = await import('./library/users.ts')
  const flags = { configs: given.files ?? [], flags: toFlags(given.options ?? {}), problems: [] }
  const env = given.env ?? {}
  const read = { pipes: new Map(), filled: new Set<string>() }
  const open = isTest ? openConfiguration : openProgramConfiguration
  const defaults = isTest ? [] : STRICT_DEFAULTS
  const app = await createApp({
    load: () => open({ table, flags, env, cwd: process.cwd(), defaults, ...read }),
    log: given.log ?? SILENT_LOG,
    toClaims: given.claims,
    folder: findConfigFolder({ flags, env, cwd: process.cwd() }),
  })
  return {
    ...createUsersAndSessions<Members>(app),
    ...createCredentials(app),
    events: createEvents(app),
    listen: () => app.listen(),
    handle: (request, response, door = 'document') =>
      serveNode(request, response, { caller: 'handle', serve: (...pair) => app.handle(...pair, door) }),
    fetch: (request, options) => fetchDoor(app, request, options),
    handleAccount: (request, response) =>
      serveNode(request, response, {
        caller: 'handleAccount',
        serve: (incoming, outgoing) => app.handle(toAccountRequest(incoming), outgoing, 'account'),
        findParsed: findParsedBody,
      }),
    async authenticate(request, options) {
      checkOptions(options, 'authenticate', AUTHENTICATE_OPTIONS)
      const { door = 'document', response, service, origins = [], peer } = options ?? {}
      if (response) requireSink(response)
      const isGuess = request instanceof Request && /^basic\b/i.test(request.headers.get('authorization') ?? '')
      const incoming = (isGuess ? readGuess : readRequest)(request, 'authenticate', peer)
      const rules = { door, accepted: ACCEPTED.library, origins }
      const identified = await withCardeaErrors(() => app.identify(incoming, rules))
      const scope = identified?.authenticated.credential.scope
      if (!identified || (scope && !scope.services.includes(service ?? ''))) return undefined
      if (response) addHeaders(response, identified.headers)
      return toUser(identified.authenticated)
    },
    reload: () => app.reload(),
    close: () => app.close(),
    [Symbol.asyncDispose]: () => app.close(),
  }
}

const AUTHENTICATE_OPTIONS = ['door', 'service', 'origins', 'response', 'peer'] satisfies (keyof AuthenticateOptions)[]

const GIVEN: readonly string[] = ['options', 'files', 'env', 'log', 'claims']

/** A program without types may give anything. */
function checkGiven(given: CreateCardea): void {
  if (!isJsonObject(given)) throw new TypeError(`createCardea takes an object: { ${GIVEN.join(', ')} }`)
  const unknown = Object.keys(given).find((member) => !GIVEN.includes(member))
  if (unknown !== undefined) throw new TypeError(`createCardea takes no ${unknown}: { ${GIVEN.join(', ')} }`)
  const { options, files, env, log, claims }: CreateCardea = given
  const isList = files === undefined || (Array.isArray(files) && files.every((path) => typeof path === 'string'))
  if (!isList) throw new TypeError('files must be a list of paths')
  if (options !== undefined && !isJsonObject(options))
    throw new TypeError('options must be an object: sections by name')
  if (env !== undefined && !isJsonObject(env)) throw new TypeError('env must be an object: variables by name')
  const lacks = LOG_LEVELS.find((level) => log !== undefined && typeof log?.[level] !== 'function')
  if (lacks) throw new TypeError(`log must have a function ${lacks}`)
  if (claims !== undefined && typeof claims !== 'function') throw new TypeError('claims must be a function')
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

function toUser({ identity, credential }: AuthenticatedRequest): AuthenticatedUser {
  const { name, roles } = identity
  const sessionId = credential.session?.id
  // a copy: the program may change its list, but not the roles Cardea knows
  const id = isAccount(identity) ? { id: idOf(identity) } : {}
  const user = { ...id, name, roles: [...roles], isAdmin: hasAllRights(identity), by: credential.handler }
  return sessionId === undefined ? user : { ...user, sessionId }
}

/** The administrator of `createTestCardea`. */
export const TEST_ADMINISTRATOR = Object.freeze({ name: 'admin', password: 'adminpw' })

const TEST_OPTIONS: CardeaOptions = {
  store: { url: 'sqlite::memory:' },
  chttpd: { port: 0 },
  server: { endpoint: 'tcp://127.0.0.1:0', 'jwt-secret': 'cardea-test-token-secret' },
  chttpd_auth: { iterations: 1, secret: 'cardea-test-cookie-secret' },
  couchdb: { uuid: '0'.repeat(32) },
  admins: { [TEST_ADMINISTRATOR.name]: TEST_ADMINISTRATOR.password },
}

/**
 * For tests: nothing on disk, any free ports, few iterations, passwords of any length, fixed secrets, one known
 * administrator. Never for real use.
 */
export function createTestCardea<Members extends object = OtherMembers>(
  given: CreateCardea = {},
): Promise<Cardea<Members>> {
  const merged: Record<string, object> = { ...TEST_OPTIONS }
  for (const [section, values] of Object.entries(given.options ?? {}))
    merged[section] = { ...merged[section], ...values }
  return toReminder(openCardea<Members>({ ...given, options: merged }, true), 'createTestCardea')
}
