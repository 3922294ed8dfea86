import { BlockList } from 'node:net'
import { type CookieSettings, createCookieHeaders } from '../../src/auth/session/session-cookie.ts'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { Refusal } from '../../src/base/errors.ts'
import { createLive } from '../../src/base/live.ts'
import { type Log, SILENT_LOG } from '../../src/base/log.ts'
import { createAlone, type Siblings } from '../../src/base/siblings.ts'
import type { DocumentSettings, UsersDeps } from '../../src/dialects/document/deps.ts'
import { createDocumentDialect } from '../../src/dialects/document/dialect.ts'
import { DOCUMENT_RIGHTS } from '../../src/dialects/document/rights.ts'
import { createMultiModelDialect } from '../../src/dialects/multi-model/dialect.ts'
import { createServerMode } from '../../src/dialects/multi-model/mode.ts'
import { MULTI_MODEL_RIGHTS } from '../../src/dialects/multi-model/rights.ts'
import { standInRoutes } from '../../src/dialects/multi-model/routes.ts'
import type { MultiModelSettings } from '../../src/dialects/multi-model/settings.ts'
import { ANONYMOUS } from '../../src/directory/identity.ts'
import { ClientCounts } from '../../src/http/client-counts.ts'
import type { Mount } from '../../src/http/dispatch.ts'
import { createDoor, type DoorLimits } from '../../src/http/door.ts'
import type { Dialect, Route } from '../../src/http/request-context.ts'
import { type Endpoint, type ListenerLimits, listen } from '../../src/http/server.ts'
import type { Scope } from '../support/scope.ts'

const DOCUMENT: DocumentSettings = {
  chttpd: {
    require_valid_user: false,
    require_valid_user_except_for_up: false,
    admin_only_all_dbs: true,
    max_uri_length: 0,
    validate_host: false,
    valid_hosts: [],
    'WWW-Authenticate': '',
    server_header_versions: true,
    enable_cors: false,
  },
  chttpd_auth: { authentication_redirect: '', timeout: 600 },
  couchdb: { maintenance_mode: 'false', uuid: '0'.repeat(32) },
  gate: { 'sign-in': false },
  upstream: { 'document-rewrites': true },
  cors: { origins: [], credentials: false, headers: [], methods: [], exposed_headers: [], max_age: 600 },
  handlers: ['default'],
  authenticationDb: undefined,
}

const MULTI_MODEL: MultiModelSettings = {
  server: {
    authentication: true,
    'authentication-system-only': true,
    'authentication-unix-sockets': true,
    role: 'single',
    harden: false,
    'session-timeout': 3600,
    'authentication-timeout': 0,
  },
  auth: { 'minimal-jwt-expiry-time': 10, 'maximal-jwt-expiry-time': 3600 },
  document: { name: 'CouchDB', grants: 'off' },
  http: { 'trusted-origin': [], 'return-queue-time-header': true },
  'multi-model': { 'web-ui-before-login': false },
  couchdb: { uuid: '0'.repeat(32) },
  chttpd_auth: { max_lifetime: 0 },
}

const LIMITS: DoorLimits & ListenerLimits = {
  'max-connections': 50,
  'max-connections-per-client': 40,
  'max-uri-bytes': 2000,
  'max-header-bytes': 8000,
  'max-headers': 50,
  'max-body-bytes': 1000,
  'max-json-items': 1000,
  // none passes by chance on a busy machine
  'body-timeout': 60_000,
  'body-deadline': 60_000,
  'write-timeout': 60_000,
  'header-timeout': 60_000,
  'keep-alive-timeout': 60_000,
}

/** For tests in which the client sends nothing for so long. */
export const IMPATIENT = { 'body-timeout': 300, 'body-deadline': 600, 'header-timeout': 400 }

/** A route that reads its body and returns its length. */
export const echo = (path: string): Route => ({
  path,
  methods: {
    POST: async (context) => ({ status: 200, headers: [], body: `read ${(await context.readBody())?.length}` }),
    GET: (context) => ({
      status: 200,
      headers: [],
      body: JSON.stringify({ ...context.client, cookie: context.cookie('AuthSession') }),
    }),
  },
})

export interface TestDoorOptions {
  readonly dialect?: 'document' | 'multi-model'
  readonly document?: Partial<DocumentSettings>
  readonly multiModel?: Partial<MultiModelSettings>
  readonly limits?: Partial<DoorLimits & ListenerLimits>
  readonly endpoint?: Endpoint
  readonly siblings?: Siblings
  readonly routes?: readonly Route[]
  readonly mounts?: readonly Mount[]
  readonly log?: Log
  /** The address of the trusted proxy; by default all of loopback. */
  readonly trusted?: string
}

const NOTHING = async () => ''

const NO_CHANGES = { sequence: 0, mark: '' }

const NODE = {
  nodeName: 'cardea@127.0.0.1',
  configuration: { list: () => ({}), set: NOTHING, unset: NOTHING, reload: async () => {} },
  administrators: { listAdministrators: () => [], setAdministrator: NOTHING, removeAdministrator: NOTHING },
  isOwnSetting: () => true,
  isOriginAllowed: () => false,
  isMisspelt: () => false,
  requirePassword: async () => {},
  supportedHashes: () => ['sha256'],
}
const NEVER = () => {
  throw new TypeError('not expected in this test')
}

const NO_USERS: UsersDeps = {
  database: '_users',
  signUp: NEVER,
  prefix: 'org.couchdb.user:',
  settings: () => ({
    chttpd_auth: { public_fields: [], users_db_public: false, allow_sign_up: false },
    couchdb: { users_db_deletable: false },
  }),
  requirePassword: async () => {},
  watchCredential: () => ({ isValid: async () => true, close() {} }),
  clock: SYSTEM_CLOCK,
  directory: {
    findRecord: async () => undefined,
    listUsers: async () => [],
    countUsers: async () => 0,
    createUser: NEVER,
    changeUser: NEVER,
    removeUser: NEVER,
  },
  changes: {
    head: async () => NO_CHANGES,
    since: async () => ({ changes: [], position: NO_CHANGES, isEnd: true, isRewound: false }),
    onWake: () => () => {},
  },
}

const IDENTITY = {
  authenticate: async () => ANONYMOUS,
  checkHealth: async () => [],
}

const COOKIE: CookieSettings = {
  timeout: 600,
  allow_persistent_cookies: true,
  cookie_domain: '',
  same_site: '',
  cookie_host_prefix: false,
  cookie_partitioned: false,
}

const ONE_DATABASE = { exists: (name: string) => name === '_system', list: async () => ['_system'] }

const NO_SESSIONS = {
  sessions: {
    open: async () => undefined,
    openForToken: NEVER,
    endCarried: async () => undefined,
  },
  cookieHeaders: createCookieHeaders(() => COOKIE, SYSTEM_CLOCK),
}

const NO_GATEWAY = {
  streams: { epoch: 0 },
  upstream: { isSet: () => false, forward: NEVER, forwardWhole: NEVER },
  services: [],
}

function createDialect({
  dialect = 'multi-model',
  document,
  multiModel,
  routes = [echo('/_open/echo'), echo('/echo')],
}: TestDoorOptions): Dialect {
  const base =
    dialect === 'document'
      ? createDocumentDialect({
          ...IDENTITY,
          name: 'CouchDB',
          version: '3.5.2',
          settings: () => ({ ...DOCUMENT, ...document }),
          ...NO_SESSIONS,
          node: NODE,
          users: NO_USERS,
          ...NO_GATEWAY,
        })
      : createMultiModelDialect({
          ...IDENTITY,
          name: 'ArangoDB',
          settings: () => ({ ...MULTI_MODEL, ...multiModel }),
          databases: ONE_DATABASE,
          reservedHeaders: [],
          ...NO_GATEWAY,
          routes: standInRoutes({
            mode: createServerMode(),
            ...IDENTITY,
            version: '3.12.5',
            settings: () => ({ ...MULTI_MODEL, ...multiModel }),
            databases: ONE_DATABASE,
          }),
          fallback: () => {
            throw new Refusal('not_found')
          },
        })
  const right = dialect === 'document' ? DOCUMENT_RIGHTS.open : MULTI_MODEL_RIGHTS.open
  return { ...base, routes: [...base.routes, ...routes.map((route) => ({ right, ...route }))] }
}

/** A door without a directory, on a free port, with small limits and more routes; closed with its scope. */
export async function openTestDoor(scope: Scope, options: TestDoorOptions = {}) {
  const limits = { ...LIMITS, ...options.limits }
  const trusted = new BlockList()
  if (options.trusted === undefined) trusted.addSubnet('127.0.0.0', 8)
  else trusted.addAddress(options.trusted)
  const rules = {
    trusted,
    trustsUnixSockets: true,
    family: 'auto',
    hostHeader: 'x-forwarded-host',
    protoHeader: 'x-forwarded-proto',
    sslHeader: 'x-forwarded-ssl',
    peerHeader: '',
  } as const
  const door = createDoor({
    dialect: createDialect(options),
    mounts: options.mounts ?? [],
    limits: createLive(limits),
    clients: new ClientCounts('test', () => limits['max-connections-per-client'], options.siblings ?? createAlone()),
    trust: createLive(rules),
    log: options.log ?? SILENT_LOG,
  })
  const listener = await listen(door, options.endpoint ?? { kind: 'tcp', host: '127.0.0.1', port: 0 }, limits)
  const port = listener.url.startsWith('unix') ? 0 : Number(new URL(listener.url).port)
  const close = (graceMs = 0) => listener.close(graceMs)
  scope.after(() => close())
  return { server: listener.server, port, close }
}
