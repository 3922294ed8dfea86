import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ADMIN_PASSWORD, type Managed, makeManaged } from '../../support/managed.ts'
import { start } from '../../support/process.ts'
import { createSharedScope } from '../../support/scope.ts'

const SECRET = 'the-secret-that-both-know'

const CONFIG = `[store]
url = sqlite:cardea.db
[chttpd]
port = none
[ssl]
enable = true
port = 0
cert_file = cert.pem
key_file = key.pem
keyfile = both.pem
[server]
endpoint = ssl://127.0.0.1:0
jwt-secret-folder = tokens
[chttpd_auth]
iterations = 1
secret = a-secret-of-cookies
[jwt_keys]
hmac:_default = ${Buffer.from(SECRET).toString('base64')}
[admins]
admin = ${ADMIN_PASSWORD}
`

function makeCertificate(cwd: string): void {
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key.pem']
  execFileSync('openssl', ['req', '-x509', '-days', '30', ...key, ...names, '-out', 'cert.pem'], { cwd, stdio: 'pipe' })
  execFileSync('sh', ['-c', 'cat cert.pem key.pem > both.pem'], { cwd })
}

/** A server whose doors speak TLS only, with a certificate that it has signed itself. */
async function serveTls(managed: Managed) {
  makeCertificate(managed.folder)
  const made = await managed.cardea(['secret', 'create', 'tokens.key'])
  assert.equal(made.code, 0, made.stderr)
  execFileSync('sh', ['-c', 'mkdir tokens && mv tokens.key tokens/1.key'], { cwd: managed.folder })
  writeFileSync(join(managed.folder, 'credentials'), `admin:${ADMIN_PASSWORD}`, { mode: 0o600 })
  await managed.cardea(['user', 'add', 'ann', '--no-password'])
  const server = start(scope, ['serve', '--config', managed.folder], { cwd: managed.folder })
  const { document, multiModel } = await server.doors()
  return { document: document.replace('http:', 'https:'), multiModel: multiModel.replace('http:', 'https:') }
}

const scope = createSharedScope()

describe('commands that connect to a server with TLS', async () => {
  const managed = makeManaged(scope, CONFIG)
  const { document, multiModel } = await serveTls(managed)
  const other = makeManaged(scope)
  const file = (name: string) => join(managed.folder, name)
  const source = ['--source-credentials', file('credentials')]
  writeFileSync(
    join(other.folder, 'upstream.ini'),
    `[upstream]\ndocument = ${document}\ndocument-secret = ${SECRET}\n`,
    { mode: 0o600 },
  )
  const ROWS: readonly [name: string, at: Managed, args: readonly string[]][] = [
    ['--url of either door', managed, ['status', '--url', document, '--credentials', file('credentials')]],
    ['secret rotate --reload', managed, ['secret', 'rotate', '--reload', multiModel]],
    ['import from a URL', other, ['import', document, ...source, '--replace']],
    ['import of administrators', other, ['import', document, '--admins', document, ...source, '--replace']],
  ]
  for (const [name, at, args] of ROWS) {
    it(`${name}: trusts the authorities of --ca, and names the option without it`, async () => {
      const without = await at.cardea(args)
      assert.equal(without.code, 1)
      assert.match(without.stderr, /no trusted authority signed its certificate\. .*: --ca FILE/)
      assert.doesNotMatch(without.stderr, /Node|--use/)
      const { code, stderr } = await at.cardea([...args, '--ca', file('cert.pem')])
      assert.equal(code, 0, stderr)
    })
  }

  it('import --from-upstream trusts upstream.ca-file, and names that option', async () => {
    const args = ['import', '--from-upstream', '--replace']
    const without = await other.cardea(args)
    assert.equal(without.code, 1)
    assert.match(without.stderr, /no trusted authority signed its certificate\. .*: upstream\.ca-file/)
    const { code, stderr, stdout } = await other.cardea([...args, '--upstream.ca-file', file('cert.pem')])
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(stdout, /^Users: \d created, /)
  })

  it('check names upstream.ca-file', async () => {
    const without = await other.cardea(['check'])
    assert.match(without.stdout, /no trusted authority signed its certificate\. .*: upstream\.ca-file/)
    assert.doesNotMatch(without.stdout, /Node|--use/)
  })

  it('a file of --ca that is missing or holds no certificate is an error', async () => {
    for (const name of ['missing.pem', 'local.ini']) {
      const args = ['status', '--url', document, '--credentials', file('credentials'), '--ca', file(name)]
      const { code, stderr } = await managed.cardea(args)
      assert.equal(code, 1)
      assert.match(stderr, /holds no certificate that can be used: /)
    }
  })
})
