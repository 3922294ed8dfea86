// Every page of the console, and a server with something to show on each.
import { SILENT_LOG } from '../../src/base/log.ts'
import { MINUTE } from '../../src/observe/totals.ts'
import { openStore } from '../../src/store/create-store.ts'
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
  option: '#/settings/chttpd_auth.timeout?search=session',
  audit: '#/audit',
  record: '#/audit/cardea%40127.0.0.1%3A2',
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

/** Active, disabled, expired and locked users with roles and grants, sessions and failed sign-ins. */
export async function startDemo(scope: Scope, options: AnyOptions = {}): Promise<Server> {
  const server = await startServer(scope, options)
  const headers = describeClient(0)
  const ask = (method: string, path: string, body: object) =>
    send(server.document, { method, path: `/_cardea/api${path}`, as: AS_ADMIN, headers, body })
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
  const signIn = (at: number, name: string, password: string) =>
    send(server.document, {
      method: 'POST',
      path: '/_session',
      headers: describeClient(at),
      body: { name, password },
    })
  for (const [at, name] of ['ada', 'ada', 'alan', 'grace', 'radia'].entries()) await signIn(at + 1, name, DEMO_PASSWORD)
  for (const [at, name] of ['alan', 'tim', 'mallory'].entries()) await signIn(at + 6, name, 'a-wrong-password')
  const body = { username: 'ada', password: DEMO_PASSWORD }
  await send(server.multiModel, { method: 'POST', path: '/_open/auth', body })
  return server
}

const MINUTES = 60

/** An hour of traffic that rises and falls, the same in every run, for the charts of the overview. */
export async function addTraffic(storeUrl: string): Promise<void> {
  const store = await openStore(storeUrl, { log: SILENT_LOG })
  const now = Math.floor(Date.now() / 1000)
  const start = now - (now % MINUTE) - MINUTES * MINUTE
  const minutes = Array.from({ length: MINUTES }, (_, minute) => ({
    step: MINUTE as typeof MINUTE,
    at: start + minute * MINUTE,
    instance: 'demo',
    counts: toCounts(minute),
  }))
  await store.putTotals(minutes)
  await store.close()
}

function toCounts(minute: number) {
  const wave = (period: number, base: number, height: number) =>
    Math.max(Math.round(base + height * Math.sin(minute / period) + ((minute * 7) % 5)), 0)
  const isAttack = minute >= 38 && minute <= 41
  return {
    'signIns/document/cookie': wave(9, 40, 18),
    'signIns/document/default': wave(5, 12, 6),
    'signIns/multi-model/bearer': wave(7, 24, 9),
    'refusals/document/default': isAttack ? 31 : wave(3, 1, 1),
    'refusals/multi-model/bearer': wave(6, 0, 1),
    'requests/document/2xx': wave(9, 620, 260),
    'requests/document/4xx': wave(4, 14, 8),
    'requests/multi-model/2xx': wave(7, 340, 120),
    'decision/0.0005': wave(9, 480, 190),
    'decision/0.001': wave(9, 320, 120),
    'decision/0.005': wave(5, 40, 22),
    'decision/0.01': isAttack ? 90 : wave(4, 6, 5),
    'upstream/0.005': wave(9, 520, 220),
    'upstream/0.01': wave(7, 280, 110),
    'upstream/0.05': wave(5, 30, 20),
    revocations: minute % 11 === 0 ? 1 : 0,
  }
}
