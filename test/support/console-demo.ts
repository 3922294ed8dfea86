// Every page of the console, and a server with something to show on each.
import { AS_ADMIN, send } from './request.ts'
import type { Scope } from './scope.ts'
import { type AnyOptions, type Server, startServer } from './server.ts'

/** A state of the console by name, as the fragment of its address. */
export const CONSOLE_PAGES: Readonly<Record<string, string>> = {
  overview: '#/overview',
  users: '#/users',
  user: '#/users/ada',
  'add-user': '#/users?do=add',
  'delete-user': '#/users/ada?do=delete',
  administrators: '#/administrators',
  administrator: '#/administrators/admin',
  secrets: '#/secrets',
  settings: '#/settings',
  audit: '#/audit',
  nodes: '#/nodes',
  account: '#/account',
}

export const DEMO_PASSWORD = 'analytical-engine'

const NAMES = [
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

/** Active, disabled, expired and locked users with roles and grants, sessions and failed sign-ins. */
export async function startDemo(scope: Scope, options: AnyOptions = {}): Promise<Server> {
  const server = await startServer(scope, options)
  const ask = (method: string, path: string, body: object) =>
    send(server.document, { method, path: `/_cardea/api${path}`, as: AS_ADMIN, body })
  for (const [at, name] of NAMES.entries())
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
  const signIn = (name: string, password: string) =>
    send(server.document, { method: 'POST', path: '/_session', body: { name, password } })
  for (const name of ['ada', 'ada', 'alan', 'grace', 'radia']) await signIn(name, DEMO_PASSWORD)
  for (const name of ['alan', 'tim', 'mallory']) await signIn(name, 'a-wrong-password')
  const body = { username: 'ada', password: DEMO_PASSWORD }
  await send(server.multiModel, { method: 'POST', path: '/_open/auth', body })
  return server
}
