// Commands that open the store themselves, because no server runs.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { CONFIG, makeManaged } from '../../support/managed.ts'

it('a command says that it made a new store, once', async (t) => {
  const { cardea, folder } = makeManaged(t)
  const first = await cardea(['user', 'add', 'ann', '--no-password'])
  assert.deepEqual([first.code, first.stderr], [0, `Made a new store at ${folder}/cardea.db\n`])
  const second = await cardea(['user', 'add', 'bob', '--no-password'])
  assert.deepEqual([second.code, second.stderr], [0, ''])
})

it('the audit trail names the owner of the server as the actor, as with a running server', async (t) => {
  const { cardea } = makeManaged(t)
  await cardea(['user', 'add', 'ann', '--no-password'])
  await cardea(['config', 'set', 'chttpd_auth.timeout', '700'])
  const records = (await cardea(['audit', 'list', '--json'])).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  for (const event of ['user.created', 'option.changed']) {
    const { actor, door, handler } = records.find((record) => record.event === event) ?? assert.fail(event)
    assert.deepEqual([actor, door, handler], ['_owner', 'control', 'socket'], event)
  }
  const text = (await cardea(['audit', 'list'])).stdout
  assert.match(text, /ann.* by the owner of the server, with the command line/)
})

it('a stored value that prevents a start is named, and can be removed', async (t) => {
  const toConfig = (prf: string) => CONFIG.replace('[chttpd_auth]\n', `[chttpd_auth]\npbkdf2_prf = ${prf}\n`)
  const { cardea, folder, serve } = makeManaged(t, toConfig('sha'))
  const name = 'chttpd_auth.min_iterations'
  const stored = await cardea(['config', 'set', name, '10000000'])
  assert.equal(stored.code, 0, stored.stderr)
  writeFileSync(join(folder, 'local.ini'), toConfig('sha256'))

  const refused = await cardea(['user', 'list'])
  assert.equal(refused.code, 4)
  const [problem = '', remedy, ...rest] = refused.stderr.trimEnd().split('\n')
  assert.match(problem, /^\[chttpd_auth\] min_iterations: 10000000 iterations .* the limit is 6000000 /)
  assert.deepEqual([remedy, rest], [`To remove this value from the store: cardea config unset ${name}`, []])

  const absent = await cardea(['config', 'unset', 'chttpd_auth.timeout'])
  assert.deepEqual([absent.code, absent.stderr], [5, 'chttpd_auth.timeout is not set at run time.\n'])
  const removed = await cardea(['config', 'unset', name])
  assert.deepEqual([removed.code, removed.stdout], [0, `${name} is no longer set at run time\n`])
  await serve()
  const { stdout } = await cardea(['audit', 'list', '--json', '--event', 'option.changed', '--limit', '1'])
  const { actor, option, old } = JSON.parse(stdout)
  assert.deepEqual([actor, option, old], ['_owner', name, '10000000'])
})
