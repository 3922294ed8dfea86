import { BlockList } from 'node:net'
import { createCookieHeaders } from '../../src/auth/session/session-cookie.ts'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { Refusal } from '../../src/base/errors.ts'
import { createLive } from '../../src/base/live.ts'
import { type Log, SILENT_LOG } from '../../src/base/log.ts'
import type { DocumentSettings, UsersDeps } from '../../src/dialects/document/deps.ts'
import { createDocumentDialect } from '../../src/dialects/document/dialect.ts'
import { RIGHTS as DOCUMENT_RIGHTS } from '../../src/dialects/document/rights.ts'
import { createMultiModelDialect } from '../../src/dialects/multi-model/dialect.ts'
import { createServerMode } from '../../src/dialects/multi-model/mode.ts'
import { RIGHTS as MULTI_MODEL_RIGHTS } from '../../src/dialects/multi-model/rights.ts'
import { standInRoutes } from '../../src/dialects/multi-model/routes.ts'
import type { MultiModelSettings } from '../../src/dialects/multi-model/settings.ts'
import { ANONYMOUS } from '../../src/directory/identity.ts'
import type { Mount } from '../../src/http/dispatch.ts'
import { createDoor, type DoorLimits } from '../../src/http/door.ts'
import type { Dialect, Route } from '../../src/http/request-context.ts'
import { type Endpoint, type ListenerLimits, listen } from '../../src/http/server.ts'
import type { Scope } from '../support/scope.ts'

const DOCUMENT: DocumentSettings = {
  requireValidUser: false,
  requireValidUserExceptForUp: false,
  adminOnlyAllDbs: true,
  maxUriLength: undefined,
  forwardsRewrites: true,
  validatesHost: false,
  validHosts: [],
  wwwAuthenticate: '',
  showsVersions: true,
  maintenanceMode: 'false',
  uuid: '0'.repeat(32),
  handlers: ['default'],
  authenticationDb: undefined,
  authenticationRedirect: '',
  sendsToSignIn: false,
  cookie: {
    timeoutSeconds: 600,
    maxLifetimeSeconds: 0,
    isPersistent: true,
    domain: '',
    sameSite: '',
    hasHostPrefix: false,
    isPartitioned: false,
  },
  cors: {
    isEnabled: false,
    origins: [],
    hasCredentials: false,
    headers: [],
    methods: [],
    exposedHeaders: [],
    maxAgeSeconds: 600,
  },
}

const MULTI_MODEL: MultiModelSettings = {
  authentication: true,
  systemOnly: true,
  unixSockets: true,
  webUiBeforeLogin: false,
  role: 'single',
  isHardened: false,
  uuid: '0'.repeat(32),
  sessionTimeoutSeconds: 3600,
  minimalExpirySeconds: 10,
  maxLifetimeSeconds: 0,
  maximalExpirySeconds: 3600,
  trustedOrigins: [],
  returnsQueueTime: true,
}

const LIMITS: DoorLimits & ListenerLimits = {
  maxConnections: 50,
  maxConnectionsPerClient: 40,
  maxUriBytes: 2000,
  maxHeaderBytes: 8000,
  maxHeaders: 50,
  maxBodyBytes: 1000,
  maxJsonItems: 1000,
  bodyTimeoutMs: 300,
  bodyDeadlineMs: 600,
  writeTimeoutMs: 60_000,
  headerTimeoutMs: 400,
  keepAliveTimeoutMs: 5000,
}

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
  settings: () => ({ publicFields: [], isPublic: false, allowsSignUp: false, isDeletable: false }),
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

const ONE_DATABASE = { exists: (name: string) => name === '_system', list: async () => ['_system'] }

const NO_SESSIONS = {
  sessions: {
    open: async () => undefined,
    openForToken: NEVER,
    findPresented: async () => undefined,
    end: async () => {},
  },
  cookieHeaders: createCookieHeaders(() => DOCUMENT.cookie, SYSTEM_CLOCK),
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
        })
      : createMultiModelDialect({
          ...IDENTITY,
          name: 'ArangoDB',
          settings: () => ({ ...MULTI_MODEL, ...multiModel }),
          databases: ONE_DATABASE,
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
    trust: createLive(rules),
    log: options.log ?? SILENT_LOG,
  })
  const listener = await listen(door, options.endpoint ?? { kind: 'tcp', host: '127.0.0.1', port: 0 }, limits)
  const port = listener.url.startsWith('unix') ? 0 : Number(new URL(listener.url).port)
  const close = (graceMs = 0) => listener.close(graceMs)
  scope.after(() => close())
  return { server: listener.server, port, close }
}
