// Configuration files and secrets that are lost while the server runs: the previous values stay in use, and the report
// says what to do. docs/reference/faults.md has the same rows.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createTestCardea } from '../../../src/index.ts'
import { send } from '../../support/request.ts'
import { makeFolder } from '../../support/scope.ts'

const CONFIG = `[log]
level = error
[chttpd]
require_valid_user = true
[cors]
max_age = 600
`

async function startWithFile(t: TestContext) {
  const path = join(makeFolder(t), 'local.ini')
  writeFileSync(path, CONFIG, { mode: 0o600 })
  // the administrator is not in the file: without the file the server could start, and be open
  const cardea = await createTestCardea({ files: [path] })
  t.after(() => cardea.close())
  const { document } = await cardea.listen()
  const findAnonymousStatus = async () => (await send(document[0] ?? '', { path: '/_all_dbs' })).status
  return { path, cardea, findAnonymousStatus }
}

const CUTS: readonly [name: string, text: string, problem: RegExp][] = [
  ['it is empty', '', /the file was not empty before: restore it, or delete it.*local\.ini/],
  ['it ends within a value', CONFIG.slice(0, CONFIG.indexOf('ue\n[cors]')), /expected true or false.*local\.ini:4/],
  ['it ends after an option', CONFIG.slice(0, CONFIG.indexOf(' true')), /got nothing.*local\.ini:4/],
  ['it ends within the name of an option', CONFIG.slice(0, CONFIG.indexOf('_user = true')), /local\.ini:4/],
]

for (const [name, text, problem] of CUTS)
  test(`a configuration file was cut off, ${name}: the previous options stay`, async (t) => {
    const { path, cardea, findAnonymousStatus } = await startWithFile(t)
    assert.equal(await findAnonymousStatus(), 401)
    writeFileSync(path, text)
    const report = await cardea.reload()
    assert.equal(report.isApplied, false)
    assert.match(report.problems.join('\n'), problem)
    assert.equal(await findAnonymousStatus(), 401)
    writeFileSync(path, CONFIG)
    assert.equal((await cardea.reload()).isApplied, true)
  })

test('the folder of secrets was emptied: the previous secrets stay, and a restart is refused', async (t) => {
  const folder = join(makeFolder(t), 'tokens')
  mkdirSync(folder)
  writeFileSync(join(folder, '1.key'), 'a secret of the tokens of this test', { mode: 0o600 })
  const options = { server: { 'jwt-secret': '', 'jwt-secret-folder': folder } }
  const cardea = await createTestCardea({ options })
  t.after(() => cardea.close())
  const { multiModel } = await cardea.listen()
  const askVersion = async (token: string) =>
    (await send(multiModel[0] ?? '', { as: `bearer ${token}`, path: '/_api/version' })).status
  const openToken = async (): Promise<string> => {
    const body = { username: 'admin', password: 'adminpw' }
    return (await send(multiModel[0] ?? '', { method: 'POST', path: '/_open/auth', body })).json.jwt
  }
  const before = await openToken()
  for (const file of readdirSync(folder)) rmSync(join(folder, file))
  const report = await cardea.reload()
  assert.match(report.problems.join('\n'), /tokens' contains no secret file/)
  assert.deepEqual([await askVersion(before), await askVersion(await openToken())], [200, 200])
  await assert.rejects(createTestCardea({ options }), { name: 'StartError', message: /contains no secret file/ })
})
