// Every page of the console, and a server with something to show on each.
import { AS_ADMIN, send } from './request.ts'
import type { Scope } from './scope.ts'
import { type AnyOptions, type Server, startServer } from './server.ts'

/** A state of the console by name, as the fragment of its address. */
export const CONSOLE_PAGES: Readonly<Record<string, string>> = {
  overview: '#/overview',
  users: '#/users',
  user: '#/users/ada',
  'locked-user': '#/users/grace',
  'add-user': '#/users?do=add',
  'delete-user': '#/users/ada?do=delete',
  roles: '#/roles',
  role: '#/roles/editor',
  databases: '#/databases',
  database: '#/databases/shop',
  sessions: '#/sessions',
  'end-sessions': '#/sessions?by=address&search=10.4&do=end-all',
  administrators: '#/administrators',
  administrator: '#/administrators/admin',
  policy: '#/policy',
  secrets: '#/secrets',
  settings: '#/settings',
  option: '#/settings/chttpd_auth.timeout?search=session',
  audit: '#/audit',
  record: '#/audit/cardea%40127.0.0.1%3A2',
  nodes: '#/nodes',
  account: '#/account',
}

export const DEMO_PASSWORD = 'analytical-engine'

export const DEMO_NAMES = [
  'ada alan barbara brian claude dennis donald edsger grace hedy jean john',
  'katherine ken leslie linus margaret niklaus radia sophie tim vint',
]
  .join(' ')
  .split(' ')

const ROLES = [['editor', 'reader'], ['reader'], ['ops', 'billing'], []]
const GRANTS = [
  { database: 'shop', level: 'rw' },
  { database: 'stats', level: 'ro' },
]

const AGENTS = [
  'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.6 Safari/605.1.15',
  'PouchDB/9.0.0',
]

/** Headers as a proxy sends them, with a different client for each number. */
const describeClient = (at: number) => ({
  'X-Forwarded-For': `10.4.${at % 3}.${20 + at * 7}`,
  'User-Agent': AGENTS[at % AGENTS.length] ?? '',
})

/** The default of `chttpd_auth_lockout.threshold`. */
const LOCKED_AFTER = 5

/** Active, disabled, expired and locked users with roles and grants, sessions and failed sign-ins. */
export async function startDemo(scope: Scope, options: AnyOptions = {}): Promise<Server> {
  const server = await startServer(scope, options)
  const headers = describeClient(0)
  const ask = (method: string, path: string, body: object) =>
    send(server.document, { method, path: `/_cardea/api${path}`, as: AS_ADMIN, headers, body })
  for (const [at, name] of DEMO_NAMES.entries())
    await ask('POST', '/users', {
      name,
      password: DEMO_PASSWORD,
      roles: ROLES[at % ROLES.length],
      grants: at % 3 === 0 ? GRANTS : [],
      active: at % 6 !== 5,
      mustChangePassword: at % 5 === 4,
      ...(at % 7 === 3 && { expires: '2025-01-01' }),
    })
  await ask('POST', '/administrators', { name: 'ops', password: DEMO_PASSWORD })
  const signIn = (at: number, name: string, password: string) =>
    send(server.document, {
      method: 'POST',
      path: '/_session',
      headers: describeClient(at),
      body: { name, password },
    })
  for (const [at, name] of ['ada', 'ada', 'alan', 'grace', 'radia'].entries()) await signIn(at + 1, name, DEMO_PASSWORD)
  for (const [at, name] of ['alan', 'tim', 'mallory'].entries()) await signIn(at + 6, name, 'a-wrong-password')
  for (let tries = 0; tries < LOCKED_AFTER; tries += 1) await signIn(9, 'grace', 'a-wrong-password')
  const body = { username: 'ada', password: DEMO_PASSWORD }
  await send(server.multiModel, { method: 'POST', path: '/_open/auth', body })
  return server
}
