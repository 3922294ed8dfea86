/** The examples, run from an installed package with the frameworks of this checkout. */
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, start, stop } from '../support/process.ts'
import { type Reply, send } from '../support/request.ts'
import type { Scope } from '../support/scope.ts'

const ENV = {
  ADMIN_PASSWORD: 'correct horse battery',
  PORT: '0',
  CARDEA_STORE__URL: 'sqlite::memory:',
  CARDEA_CHTTPD_AUTH__ITERATIONS: '1',
}

const post = (base: string, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
  send(base, {
    method: 'POST',
    path,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

/** The examples, and the packages that each needs. */
const EXAMPLES = {
  express: ['express'],
  fastify: ['fastify'],
  hono: ['hono', '@hono'],
  fetch: [],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Signs up, in and out as a client of the example would, and tries what a hostile one would. */
export async function tryExample(scope: Scope, folder: string, example: keyof typeof EXAMPLES): Promise<void> {
  for (const name of EXAMPLES[example]) {
    const module = join(folder, 'node_modules', name)
    if (!existsSync(module)) symlinkSync(join(ROOT, 'node_modules', name), module)
  }
  const file = `${example}.mjs`
  copyFileSync(join(folder, 'node_modules', 'cardea', 'examples', file), join(folder, file))
  const program = start(scope, [], { command: [process.execPath, file], cwd: folder, env: ENV })
  const [base] = await program.says(/^http:\S+/m)

  const ada = { name: 'ada', password: 'analytical engine' }
  const isRefused = async (path: string, body: unknown) =>
    assert.match(String((await post(base, path, body)).status), /^4/, JSON.stringify(body))
  await isRefused('/account/sign-up', { ...ada, roles: ['_admin'] })
  assert.equal((await post(base, '/account/sign-up', ada)).status, 201)
  assert.equal((await post(base, '/account/sign-up', ada)).status, 409)
  await isRefused('/account/sign-up', { name: 'bob' })
  await isRefused('/account/sign-up', { name: 'bob', password: 'short' })
  assert.equal((await post(base, '/account/sign-up', { ...ada, name: 'bob' })).status, 201, 'the name is still free')
  for (const body of [{}, { name: 5 }, { name: 'admin', password: 'x' }, { name: '_x', password: 'x' }])
    await isRefused('/account/sign-up', body)
  for (const body of [{}, { name: ['ada'], password: 'x' }, { ...ada, code: 5 }, { ...ada, password: 'wrong' }])
    await isRefused('/account/sign-in', body)

  const signedIn = await post(base, '/account/sign-in', ada)
  const { id, ...shown } = JSON.parse(signedIn.body)
  assert.deepEqual([shown, typeof id], [{ name: 'ada', roles: [] }, 'string'])
  const [line = ''] = signedIn.lines['set-cookie'] ?? []
  assert.match(line, /^AuthSession=[\w-]+;.* HttpOnly; SameSite=Lax$/)
  const headers = { Cookie: line.split(';')[0] ?? '' }
  assert.equal((await send(base, { path: '/me' })).status, 401)
  assert.equal(JSON.parse((await send(base, { path: '/me', headers })).body).name, 'ada')
  const signedOut = await post(base, '/account/sign-out', {}, headers)
  assert.match(signedOut.lines['set-cookie']?.join() ?? '', /^AuthSession=;/)
  assert.equal((await send(base, { path: '/me', headers })).status, 401)
  await stop(program)
}
