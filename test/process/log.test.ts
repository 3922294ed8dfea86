import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { startShared } from '../support/hosted-server.ts'
import { ADMIN_PASSWORD, makeManaged, type Serving } from '../support/managed.ts'
import { BUNDLED, IN_MEMORY, start } from '../support/process.ts'
import { basic, type Request, send } from '../support/request.ts'

const AS_ADMIN = basic('admin', ADMIN_PASSWORD)

const createUser = ({ document }: Serving, name: string) =>
  send(document, { as: AS_ADMIN, method: 'POST', path: '/_cardea/api/users', body: { name, password: 'a password' } })

/** The two ways over HTTP to set the level; `test/process/reload.test.ts` has the third, a reload. */
const WAYS: Readonly<Record<string, (level: string) => Request>> = {
  _config: (level) => ({ method: 'PUT', path: '/_node/_local/_config/log/level', body: JSON.stringify(level) }),
  'the admin API': (level) => ({ method: 'PUT', path: '/_cardea/api/settings/log/level', body: { value: level } }),
}

test('the level of the log changes while the server runs', async (t) => {
  const { folder } = makeManaged(t)
  const started = startShared(t, ['serve', '--config', folder], { cwd: folder })
  const server = { ...started, ...(await started.doors()) }
  for (const [way, toRequest] of Object.entries(WAYS)) {
    const setLevel = async (level: string) => {
      const request = { as: AS_ADMIN, ...toRequest(level) }
      const { status, body } = await send(server.document, request)
      assert.equal(status, 200, `${way}: ${body}`)
    }
    const [hidden, shown] = [`hidden-${Object.keys(WAYS).indexOf(way)}`, `shown-${Object.keys(WAYS).indexOf(way)}`]
    await setLevel('error')
    await createUser(server, hidden)
    await setLevel('info')
    await createUser(server, shown)
    await server.says(new RegExp(`"user\\.created".*"subject":"${shown}"`))
    assert.doesNotMatch(server.stderr(), new RegExp(`"subject":"${hidden}"`), way)
  }
})

test('the log is JSON where standard error is not a terminal, and nothing else is written to it', async (t) => {
  const server = start(t, ['serve', ...IN_MEMORY, '--admins.admin', ADMIN_PASSWORD])
  await server.doors()
  server.child.kill('SIGTERM')
  await server.ended
  for (const line of server.stderr().trim().split('\n')) assert.equal(typeof JSON.parse(line).msg, 'string')
})

const hasTerminal = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0

test('the log is text on a terminal', {
  skip: !hasTerminal && 'needs the program script, for a terminal',
}, async (t) => {
  const words = [process.execPath, BUNDLED, 'serve', ...IN_MEMORY, '--admins.admin', ADMIN_PASSWORD]
  // the server is in a session of its own there: it is ended by its id
  const program = `echo "process $$"; exec ${words.map((word) => `'${word}'`).join(' ')}`
  const terminal = start(t, [program, '/dev/null'], { command: ['script', '-qec'] })
  const [, id = ''] = await terminal.says(/^process (\d+)/m)
  t.after(() => process.kill(Number(id), 'SIGKILL'))
  await terminal.says(/^\d{4}-\d\d-\d\dT[\d:.]+Z info listening document=\["http:/m)
})
