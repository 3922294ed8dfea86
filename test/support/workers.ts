// A server of two workers, as a process of its own.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { FREE_PORTS, type Started, start } from './process.ts'
import { basic, createAsk } from './request.ts'
import { makeFolder, type Scope } from './scope.ts'
import { MULTI_MODEL_SECRET, openBackend } from './upstream.ts'
import { waitUntil } from './wait.ts'

export const ADMIN = basic('anna', 'secret')

export interface Doors {
  readonly cardea: Started
  readonly document: string
  readonly multiModel: string
  readonly folder: string
}

/** Two workers that serve. */
export async function serve(scope: Scope, folder: string, ...args: readonly string[]): Promise<Doors> {
  const store = ['--store.url', `sqlite:${join(folder, 'store.db')}`]
  const settings = ['--config', join(folder, 'a.ini'), '--server.workers', '2', ...store, ...args]
  const cardea = start(scope, ['serve', ...FREE_PORTS, ...settings], { hasFamily: true })
  return { cardea, folder, ...(await cardea.doors()) }
}

/** The process ids of the workers that run, the oldest first. */
export function listWorkers({ cardea: { child } }: Pick<Doors, 'cardea'>): readonly number[] {
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')
  return children.trim().split(' ').filter(Boolean).map(Number)
}

export async function readMetric(document: string, name: string): Promise<number> {
  const { body } = await createAsk(document)('GET', '/_cardea/metrics', { as: ADMIN })
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(body)?.[1])
}

/** The upstream responds to these requests when the test says so. */
export const HELD = '/db/held'

export async function makeConfiguration(scope: Scope) {
  const folder = makeFolder(scope)
  const held: (() => void)[] = []
  const { url, seen } = await openBackend(scope, (request, response) => {
    const respond = () => response.end('{}')
    if (request.url === HELD) held.push(respond)
    else respond()
  })
  writeFileSync(join(folder, 'upstream-secret'), MULTI_MODEL_SECRET)
  writeFileSync(join(folder, 'token-secret'), 'the-first-secret-of-the-tokens-here')
  const sections = {
    admins: { anna: 'secret' },
    upstream: {
      document: url,
      'document-secret': 'a-secret-the-document-upstream-shares',
      'multi-model': url,
      'multi-model-secret-keyfile': join(folder, 'upstream-secret'),
    },
    server: { 'jwt-secret-keyfile': join(folder, 'token-secret') },
    auth: { 'peer-failures': 0 },
    door: { 'stop-timeout': 1 },
  }
  const lines = Object.entries(sections).map(
    ([section, values]) =>
      `[${section}]\n${Object.entries(values)
        .map(([name, value]) => `${name} = ${value}\n`)
        .join('')}`,
  )
  writeFileSync(join(folder, 'a.ini'), lines.join(''), { mode: 0o600 })
  return { folder, held, seen }
}

export interface Sent {
  readonly status: number
  readonly body: string
}

/** A client with a connection of its own, or one for each request. */
export function openClient(base: string, keepAlive = true) {
  const agent = new Agent({ keepAlive, maxSockets: 1 })
  const get = (path: string, headers: Record<string, string>): Promise<Sent> =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(new URL(path, base), { agent, headers }, (response) => {
        let body = ''
        response.on('data', (chunk) => {
          body += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body })).on('error', reject)
      })
      sent.on('error', reject).end()
    })
  return { get, close: () => agent.destroy() }
}

export async function must(reply: Promise<{ readonly status: number; readonly body: string; readonly json: unknown }>) {
  const { status, body, json } = await reply
  assert.ok(status < 300, `${status} ${body}`)
  return Object(json)
}

export const api = ({ document }: Doors, method: string, path: string, body?: unknown, as = ADMIN) =>
  must(createAsk(document)(method, `/_cardea/api${path}`, { as, body }))

export async function addUser(doors: Doors, name: string, more: object = {}) {
  await api(doors, 'POST', '/users', { name, password: 'one', ...more })
  return { Authorization: basic(name, 'one') }
}

/** Resolves when all workers are replaced. */
export async function roll(doors: Doors): Promise<void> {
  const countRolls = () => doors.cardea.stderr().split('workers were replaced').length
  const before = countRolls()
  await api(doors, 'POST', '/reload', { rolling: true })
  await waitUntil(() => countRolls() > before)
}
