import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runCommand } from '../../support/commands.ts'
import { makeManaged } from '../../support/managed.ts'
import { FREE_PORTS, stop } from '../../support/process.ts'
import { makeFolder } from '../../support/scope.ts'

const ADMIN = '[admins]\nadmin = a-password\n'

/** A configuration that both `serve` and `config check` reject, with the same exit code and message. */
interface Rejected {
  readonly ini?: string
  /** Instead of `--config local.ini`. */
  readonly args?: readonly string[]
  readonly code: number
  readonly says: RegExp
}

const REJECTED: Readonly<Record<string, Rejected>> = {
  'a folder without files': {
    args: ['--config', 'empty'],
    code: 6,
    says: /^there is no \*\.ini file in this folder \(empty\)$/m,
  },
  'a store in a folder that does not exist': {
    ini: `[store]\nurl = sqlite:nowhere/cardea.db\n${ADMIN}`,
    code: 6,
    says: /^\[store\] url: there is no folder \S*\/nowhere; create it first \(local\.ini:2\)$/m,
  },
  'a secret file that does not exist': {
    ini: `[server]\njwt-secret-keyfile = nowhere\n${ADMIN}`,
    code: 6,
    says: /^the secret file '.*nowhere' cannot be read: .* \(local\.ini:2\)$/m,
  },
  'a certificate that does not exist': {
    ini: `[ssl]\nenable = true\ncert_file = no.pem\nkey_file = no.pem\n${ADMIN}`,
    code: 6,
    says: /no\.pem.* \(local\.ini:3\)$/m,
  },
  'a service key that does not exist': {
    ini: `[upstream]\nservice-keyfile = no.pem\n${ADMIN}`,
    code: 6,
    says: /no\.pem cannot be read \(local\.ini:2\)$/m,
  },
  'no administrator': { ini: '[chttpd]\nport = 0\n', code: 1, says: /^No administrator is configured/m },
  'a malformed administrator only': {
    ini: '[admins]\nadmin = -pbkdf2-nonsense\n',
    code: 1,
    says: /^administrator admin is malformed: .* \(local\.ini:2\)$/m,
  },
}

describe('config check finds what serve rejects', () => {
  for (const [name, { ini = '', args = ['--config', 'local.ini'], code, says }] of Object.entries(REJECTED)) {
    it(name, async (t) => {
      const cwd = makeFolder(t)
      mkdirSync(join(cwd, 'empty'))
      mkdirSync(join(cwd, 'data'))
      writeFileSync(join(cwd, 'local.ini'), ini, { mode: 0o600 })
      for (const command of ['serve', 'config check']) {
        const ended = await runCommand([...command.split(' '), ...args, ...FREE_PORTS], { cwd })
        assert.match(ended.stderr, says, command)
        assert.equal(ended.code, code, command)
      }
    })
  }
})

it('config show, get and check find data/ as other commands do', async (t) => {
  const cwd = makeFolder(t)
  mkdirSync(join(cwd, 'data'))
  writeFileSync(
    join(cwd, 'data', 'local.ini'),
    `[store]\nurl = sqlite:cardea.db\n[chttpd_auth]\ntimeout = 77\n${ADMIN}`,
    {
      mode: 0o600,
    },
  )
  const get = await runCommand(['config', 'get', 'chttpd_auth.timeout'], { cwd })
  assert.deepEqual([get.code, get.stdout], [0, '77\n'])
  assert.match((await runCommand(['config', 'show'], { cwd })).stdout, /timeout = 77 {2}\(data\/local\.ini:4\)/)
  assert.equal((await runCommand(['config', 'check'], { cwd })).code, 0)
})

it('config check warns about duplicate options, malformed administrators and listeners without TLS', async (t) => {
  const cwd = makeFolder(t)
  const ini = `[store]\nurl = sqlite:c.db\n[chttpd]\nbind_address = 0.0.0.0\nport = 1\nport = 0\n${ADMIN}eve = -pbkdf2-x\n`
  writeFileSync(join(cwd, 'local.ini'), ini, { mode: 0o600 })
  const { code, stdout } = await runCommand(['config', 'check', '-c', 'local.ini'], { cwd })
  assert.equal(code, 0, stdout)
  assert.match(
    stdout,
    /^warning: \[chttpd\] port: this line is ignored: the one at local\.ini:6 is used \(local\.ini:5\)$/m,
  )
  assert.match(stdout, /^warning: chttpd\.bind_address: other machines can reach 0\.0\.0\.0 .*\(local\.ini:4\)$/m)
  assert.match(stdout, /^warning: administrator eve is malformed: .*\(local\.ini:9\)$/m)
})

it('check and config leave a file unchanged that was put in the place of the store of a running server', async (t) => {
  const other = makeManaged(t)
  await other.cardea(['user', 'add', 'grace', '--password-stdin'], 'analytical-engine')
  const managed = makeManaged(t)
  const server = await managed.serve()
  await managed.cardea(['user', 'add', 'ada', '--password-stdin'], 'analytical-engine')
  const file = join(managed.folder, 'cardea.db')
  copyFileSync(join(other.folder, 'cardea.db'), `${file}.new`)
  renameSync(`${file}.new`, file)
  const replaced = readFileSync(file)
  const log = readFileSync(`${file}-wal`)
  for (const command of ['check', 'config show', 'config check']) await managed.cardea(command.split(' '))
  assert.ok(readFileSync(file).equals(replaced))
  assert.ok(readFileSync(`${file}-wal`).equals(log))
  // a check of the server counts for a second
  let checked = await managed.cardea(['check'])
  while (checked.code === 0) checked = await managed.cardea(['check'])
  assert.match(
    checked.stdout,
    /^problem {2}store {10}the running server cannot use it: .* was deleted, moved or replaced/m,
  )
  await stop(server)
  assert.match((await managed.cardea(['user', 'list'])).stdout, /^grace/m)
})
