// The secrets of tokens: where they are read from, how they are reloaded, and what is shown of them.
import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { member, openMultiModel, superuser } from '../../support/multi-model.ts'
import type { Request } from '../../support/request.ts'
import { waitUntil } from '../../support/wait.ts'

const JWT = '/_admin/server/jwt'
const VERSION = '/_api/version'
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const by = (secret: string): Pick<Request, 'as'> => ({ as: superuser({}, { secret }) })
const [ONE, TWO, THREE] = ['jwtsecret-1', 'jwtsecret-2', 'jwtsecret-3'] as const
const digests = (active: string, ...passive: string[]) => ({
  error: false,
  code: 200,
  result: { active: { sha256: sha256(active) }, passive: passive.map((text) => ({ sha256: sha256(text) })) },
})

function createFolder(t: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-secrets-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

const openFolder = (t: TestContext, folder: string, options: object = {}) =>
  openMultiModel(t, { server: { 'jwt-secret': '', 'jwt-secret-folder': folder, ...options } })

const openFile = (t: TestContext, file: string) =>
  openMultiModel(t, { server: { 'jwt-secret': '', 'jwt-secret-keyfile': file } })

describe('the shown digest', () => {
  it('is of the trimmed secret', async (t) => {
    const folder = createFolder(t, { '01': ` \t${ONE}\r\n`, '02': TWO })
    const { ask } = await openFolder(t, folder)
    const { json } = await ask('GET', JWT, by(ONE))
    assert.deepEqual(json, digests(ONE, TWO))
    assert.equal(
      member(member(member(json, 'result'), 'active'), 'sha256'),
      'cc8d58f77e7b0e0976f57f346c9d13997af8088c409d630e867de798f8d8515d',
    )
  })
  it('is of the untrimmed secret if it is an option', async (t) => {
    const { ask } = await openMultiModel(t, { server: { 'jwt-secret': ' x ' } })
    assert.deepEqual((await ask('GET', JWT, by(' x '))).json, digests(' x '))
  })
  it('is of the trimmed PEM text of a key', async (t) => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const { ask } = await openFile(t, join(createFolder(t, { key: `\n${pem}\n` }), 'key'))
    assert.deepEqual((await ask('GET', JWT, { as: superuser({}, { es256: privateKey }) })).json, digests(pem.trim()))
  })
})

describe('secret files', () => {
  it('reads a file', async (t) => {
    const { ask } = await openFile(t, join(createFolder(t, { key: `${ONE}\n` }), 'key'))
    assert.deepEqual((await ask('GET', JWT, by(ONE))).json, digests(ONE))
  })
  it('reads a folder in byte order, without hidden, .tmp and empty files and folders', async (t) => {
    const folder = createFolder(t, { b: TWO, a: THREE, B: ONE, '.hidden': 'x', 'c.tmp': 'x', d: ' \n' })
    mkdirSync(join(folder, 'e'))
    const { ask } = await openFolder(t, folder)
    assert.deepEqual((await ask('GET', JWT, by(ONE))).json, digests(ONE, THREE, TWO))
  })
  it('follows links, as Kubernetes mounts them', async (t) => {
    const folder = createFolder(t)
    mkdirSync(join(folder, '..2026'))
    writeFileSync(join(folder, '..2026', 'a'), ONE)
    symlinkSync('..2026', join(folder, '..data'))
    symlinkSync(join('..data', 'a'), join(folder, 'a'))
    const { ask } = await openFolder(t, folder)
    assert.deepEqual((await ask('GET', JWT, by(ONE))).json, digests(ONE))
    mkdirSync(join(folder, '..2027'))
    writeFileSync(join(folder, '..2027', 'a'), TWO)
    symlinkSync('..2027', join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    assert.deepEqual((await ask('POST', JWT, by(ONE))).json, digests(TWO))
  })
})

describe('at start', () => {
  const rows: readonly { name: string; options: (t: TestContext) => object; message: RegExp }[] = [
    {
      name: 'a file and a folder exclude each other',
      options: (t) => ({ 'jwt-secret-keyfile': join(createFolder(t), 'x'), 'jwt-secret-folder': createFolder(t) }),
      message: /please specify either '--server.jwt-secret-keyfile' or '--server.jwt-secret-folder' but not both/,
    },
    {
      name: 'a missing file',
      options: (t) => ({ 'jwt-secret-keyfile': join(createFolder(t), 'x') }),
      message: /^the secret file '.*x' cannot be read: no such file or directory$/,
    },
    {
      name: 'a missing folder',
      options: (t) => ({ 'jwt-secret-folder': join(createFolder(t), 'x') }),
      message: /^the folder of secrets '.*x' cannot be read: no such file or directory$/,
    },
    {
      name: 'an empty folder',
      options: (t) => ({ 'jwt-secret-folder': createFolder(t, { '.x': 'x' }) }),
      message: /^the folder of secrets '.*' contains no secret file$/,
    },
    {
      name: 'an empty active file',
      options: (t) => ({ 'jwt-secret-folder': createFolder(t, { a: '\n', b: ONE }) }),
      message: /^the secret in '.*a' is empty$/,
    },
    {
      name: 'a secret that is too long',
      options: (t) => ({ 'jwt-secret-folder': createFolder(t, { a: ONE, b: 'x'.repeat(65) }) }),
      message: /^the secret in '.*b' is longer than 64 bytes$/,
    },
    {
      name: 'a key that is not an EC key',
      options: (t) => ({ 'jwt-secret-folder': createFolder(t, { a: '-----BEGIN RSA PRIVATE KEY-----' }) }),
      message: /^'.*a' has no usable key: expected one unencrypted EC key on the curve P-256, in PEM$/,
    },
    {
      name: 'the cookie secret',
      options: (t) => ({ 'jwt-secret-folder': createFolder(t, { a: ONE, b: 'cardea-test-cookie-secret' }) }),
      message: /a secret of tokens is also chttpd_auth.secret: they must be different/,
    },
  ]
  for (const { name, options, message } of rows) {
    it(`rejects ${name}`, async (t) => {
      await assert.rejects(openMultiModel(t, { server: { 'jwt-secret': '', ...options(t) } }), (error: Error) => {
        assert.match(error.message, message)
        return true
      })
    })
  }
})

describe('reload', () => {
  it('removed secrets no longer verify, kept ones do, a new one signs', async (t) => {
    const folder = createFolder(t, { '2': ONE, '3': TWO })
    const door = await openFolder(t, folder)
    const { ask } = door
    const issued = await door.signIn('admin', 'adminpw')
    assert.equal((await ask('GET', VERSION, { as: issued })).status, 200)
    writeFileSync(join(folder, '1'), THREE)
    rmSync(join(folder, '2'))
    assert.deepEqual((await ask('POST', JWT, by(ONE))).json, digests(THREE, TWO))
    assert.equal((await ask('GET', VERSION, { as: issued })).status, 401)
    for (const [secret, status] of [
      [ONE, 401],
      [TWO, 200],
      [THREE, 200],
    ] as const) {
      assert.equal((await ask('GET', VERSION, by(secret))).status, status, secret)
    }
    const fresh = await door.signIn('admin', 'adminpw')
    rmSync(join(folder, '3'))
    await ask('POST', JWT, by(THREE))
    assert.equal((await ask('GET', VERSION, { as: fresh })).status, 200)
  })

  const rows: readonly { name: string; spoil: (folder: string) => void; errorNum: number; message: RegExp }[] = [
    {
      name: 'a missing folder',
      spoil: (folder) => rmSync(folder, { recursive: true }),
      errorNum: 34,
      message:
        /^unable to read content of jwt-secret-folder '.*': no such file or directory\. please make sure the file\/directory is readable for the arangod process and user$/,
    },
    {
      name: 'an empty folder',
      spoil: (folder) => rmSync(join(folder, '1')),
      errorNum: 10,
      message: /^empty JWT secrets directory$/,
    },
    {
      name: 'a secret that is too long',
      spoil: (folder) => writeFileSync(join(folder, '0'), 'x'.repeat(65)),
      errorNum: 10,
      message: /^Given JWT secret too long. Max length is 64$/,
    },
    {
      name: 'an empty active file',
      spoil: (folder) => writeFileSync(join(folder, '0'), ''),
      errorNum: 10,
      message: /is empty/,
    },
    {
      name: 'an active public key',
      spoil: (folder) => {
        const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
        writeFileSync(join(folder, '0'), publicKey.export({ type: 'spki', format: 'pem' }))
      },
      errorNum: 10,
      message: /^First JWT secret file \(active secret\) contains an ES256 public key/,
    },
    {
      name: 'an active RSA key',
      spoil: (folder) => {
        const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
        writeFileSync(join(folder, '0'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
      },
      errorNum: 10,
      message: /^PEM file detected but does not contain a valid EC key$/,
    },
    {
      name: 'the cookie secret',
      spoil: (folder) => writeFileSync(join(folder, '2'), 'cardea-test-cookie-secret'),
      errorNum: 10,
      message: /also chttpd_auth.secret/,
    },
  ]
  for (const { name, spoil, errorNum, message } of rows) {
    it(`${name}: keeps the old secrets and reports why`, async (t) => {
      const folder = createFolder(t, { '1': ONE })
      const { ask, signIn } = await openFolder(t, folder)
      const issued = await signIn('admin', 'adminpw')
      spoil(folder)
      const { status, json } = await ask('POST', JWT, by(ONE))
      assert.deepEqual([status, member(json, 'code'), member(json, 'errorNum')], [400, 400, errorNum])
      assert.match(String(member(json, 'errorMessage')), message)
      assert.deepEqual((await ask('GET', JWT, by(ONE))).json, digests(ONE))
      assert.equal((await ask('GET', VERSION, { as: issued })).status, 200)
    })
  }

  it('reloads with the configuration', async (t) => {
    const folder = createFolder(t, { '1': ONE })
    const { ask, cardea } = await openFolder(t, folder)
    writeFileSync(join(folder, '2'), TWO)
    assert.equal((await cardea.reload()).isApplied, true)
    assert.equal((await ask('GET', VERSION, by(TWO))).status, 200)
  })
  it('reloads when watched files change', async (t) => {
    const folder = createFolder(t, { '1': ONE })
    const { ask } = await openFolder(t, folder, { 'jwt-secret-watch': true })
    writeFileSync(join(folder, '2.tmp'), TWO)
    renameSync(join(folder, '2.tmp'), join(folder, '2'))
    const isTaken = async () => (await ask('GET', VERSION, by(TWO))).status === 200
    await waitUntil(isTaken)
  })
  it('rejects other methods', async (t) => {
    const { ask } = await openMultiModel(t)
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      assert.equal((await ask(method, JWT, { as: superuser() })).status, 405)
    }
  })
})
