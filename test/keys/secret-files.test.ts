import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { digestHex } from '../../src/base/encoding.ts'
import { describeRing, signWithRing, verifyWithRing } from '../../src/keys/ring.ts'
import { createRandomSecret } from '../../src/keys/secret.ts'
import { loadSecretRing, type RingLoad, reloadSecretRing } from '../../src/keys/secret-files.ts'
import { makeSigned, PAIRS, toPem, toPrivatePem } from './signing.ts'

function makeFolder(t: TestContext, files: Readonly<Record<string, string | Buffer>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-keys-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return folder
}

const digest = (text: string | Buffer) => digestHex('sha256', Buffer.from(text))
const LONG = 'a secret of thirty-two bytes, ok'

/** Digests of the current secrets, the active one first; or number and message of the problem. */
function shown(load: RingLoad): readonly unknown[] {
  if (load.kind === 'refused') return [load.errorNum, load.message]
  const { active, passive } = describeRing(load.ring)
  return [active, ...passive].map(({ sha256 }) => sha256)
}

const warningsOf = (load: RingLoad) => (load.kind === 'ring' ? load.warnings.map(({ text }) => text) : [])

const EC = toPrivatePem(PAIRS.p256.privateKey)
const EC_PUBLIC = toPem(PAIRS.p256.publicKey)
const SEC1 = PAIRS.p256.privateKey.export({ format: 'pem', type: 'sec1' }).toString()
const PARAMETERS = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n'
const ENCRYPTED = PAIRS.p256.privateKey
  .export({ format: 'pem', type: 'sec1', cipher: 'aes-128-cbc', passphrase: 'x' })
  .toString()
const NEEDED = 'but a private key is required for signing JWT tokens needed for intra-cluster communication'
const NOT_EC = [10, 'PEM file detected but does not contain a valid EC key']
const TAIL = 'please make sure the file/directory is readable for the arangod process and user'
const TOO_LONG = [10, 'Given JWT secret too long. Max length is 64']

/** A public key in DER with these bytes. */
const toEd25519Der = (key: Buffer) => Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), key])

describe('a secret in a file', () => {
  const rows: [string, string | Buffer, readonly unknown[]][] = [
    ['kept unchanged', 'jwtsecret-1', [digest('jwtsecret-1')]],
    ['white space at both ends is removed', ' \t\r\njwtsecret-1\n\r\t ', [digest('jwtsecret-1')]],
    ['white space inside is kept', 'a b\tc', [digest('a b\tc')]],
    ['other white space belongs to the secret', '\va\u00a0', [digest('\va\u00a0')]],
    ['bytes that are not text', Buffer.from([0, 255, 0]), [digest(Buffer.from([0, 255, 0]))]],
    ['base64 is not decoded', 'aGVsbG8=', [digest('aGVsbG8=')]],
    ['64 bytes', 'x'.repeat(64), [digest('x'.repeat(64))]],
    ['64 bytes and a newline', `${'x'.repeat(64)}\n`, [digest('x'.repeat(64))]],
    ['65 bytes', 'x'.repeat(65), TOO_LONG],
    ['64 characters with more than 64 bytes', 'é'.repeat(64), TOO_LONG],
    ['an EC key', EC, [digest(EC.trim())]],
    ['an EC key in SEC1', SEC1, [digest(SEC1.trim())]],
    ['an EC key after its parameters', PARAMETERS + SEC1, [digest((PARAMETERS + SEC1).trim())]],
    ['an encrypted EC key', ENCRYPTED, NOT_EC],
    ['an RSA key', toPrivatePem(PAIRS.rsa.privateKey), NOT_EC],
    ['an EC key on another curve', toPrivatePem(PAIRS.p384.privateKey), NOT_EC],
    ['an Ed25519 key', toPrivatePem(PAIRS.ed25519.privateKey), NOT_EC],
    ['PEM with invalid content', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----', NOT_EC],
    ['a truncated PEM', '-----BEGIN PUBLIC KEY-----', NOT_EC],
    ['an EC public key', EC_PUBLIC, [10, `JWT secret keyfile contains an ES256 public key, ${NEEDED}`]],
    ['a public key in DER', PAIRS.ed25519.publicKey.export({ format: 'der', type: 'spki' }), NOT_EC],
    ['a public key in DER that ends with the byte of a line break', toEd25519Der(Buffer.alloc(32, '\n')), NOT_EC],
  ]
  for (const [name, content, expected] of rows) {
    it(name, async (t) => {
      const keyfile = join(makeFolder(t, { secret: content }), 'secret')
      assert.deepEqual(shown(await loadSecretRing({ keyfile })), expected)
    })
  }
  it('an empty file is rejected', async (t) => {
    const keyfile = join(makeFolder(t, { secret: ' \n' }), 'secret')
    assert.deepEqual(shown(await loadSecretRing({ keyfile })), [10, `the JWT secret of '${keyfile}' is empty`])
  })
  it('a missing file is rejected with the reason of the system', async (t) => {
    const keyfile = join(makeFolder(t), 'none')
    const message = `unable to read content of jwt-secret file '${keyfile}': no such file or directory. ${TAIL}`
    assert.deepEqual(shown(await loadSecretRing({ keyfile })), [34, message])
  })
  it('a folder or a pipe is rejected without blocking', async (t) => {
    const folder = makeFolder(t)
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    for (const keyfile of [folder, pipe]) {
      const message = `unable to read content of jwt-secret file '${keyfile}': not a regular file. ${TAIL}`
      assert.deepEqual(shown(await loadSecretRing({ keyfile })), [34, message])
    }
  })
  it('a huge file is rejected without reading it', async (t) => {
    const keyfile = join(makeFolder(t, { secret: 'x'.repeat(65_537) }), 'secret')
    const message = `unable to read content of jwt-secret file '${keyfile}': larger than 65536 bytes. ${TAIL}`
    assert.deepEqual(shown(await loadSecretRing({ keyfile })), [34, message])
  })
  it('a short one causes a warning that does not show it', async (t) => {
    const folder = makeFolder(t, { short: 'jwtsecret-1', long: LONG })
    const [warning, ...others] = warningsOf(await loadSecretRing({ keyfile: join(folder, 'short') }))
    assert.match(warning ?? '', /short' is shorter than 32 bytes/)
    assert.equal(warning?.includes('jwtsecret'), false)
    assert.deepEqual(others, [])
    assert.deepEqual(warningsOf(await loadSecretRing({ keyfile: join(folder, 'long') })), [])
  })
})

describe('secrets in a folder', () => {
  const rows: [string, Record<string, string | Buffer>, readonly unknown[]][] = [
    ['the first by name signs', { b: 'second', a: 'first' }, [digest('first'), digest('second')]],
    [
      'files are sorted by bytes',
      { é: 'e', Z: 'z', a: 'a', '10': 'x', '9': 'n' },
      ['x', 'n', 'z', 'a', 'e'].map(digest),
    ],
    ['hidden files are ignored', { '.a': 'no', b: 'yes' }, [digest('yes')]],
    ['temporary files are ignored', { 'a.tmp': 'no', 'b.tmp.txt': 'yes' }, [digest('yes')]],
    ['folders are ignored', { 'a/b': 'no', c: 'yes' }, [digest('yes')]],
    ['empty passive files are ignored', { a: 'yes', b: ' \n', c: 'too' }, [digest('yes'), digest('too')]],
    [
      'an EC key and secrets',
      { a: 's', b: EC, c: EC_PUBLIC },
      [digest('s'), digest(EC.trim()), digest(EC_PUBLIC.trim())],
    ],
    ['a passive PEM without EC key is ignored', { a: 's', b: toPem(PAIRS.rsa.publicKey) }, [digest('s')]],
    ['a passive secret that is too long', { a: 's', b: 'x'.repeat(65) }, TOO_LONG],
    ['no file', {}, [10, 'empty JWT secrets directory']],
    ['only ignored files', { '.a': 'x', 'b.tmp': 'x' }, [10, 'empty JWT secrets directory']],
    [
      'an active public key',
      { a: EC_PUBLIC, b: EC },
      [
        10,
        `First JWT secret file (active secret) contains an ES256 public key, ${NEEDED}. Public keys can only be used as passive secrets for verification.`,
      ],
    ],
    ['an active RSA key', { a: toPrivatePem(PAIRS.rsa.privateKey), b: 's' }, NOT_EC],
  ]
  for (const [name, files, expected] of rows) {
    it(name, async (t) => assert.deepEqual(shown(await loadSecretRing({ folder: makeFolder(t, files) })), expected))
  }
  it('an empty active file is rejected', async (t) => {
    const folder = makeFolder(t, { a: '', b: 'yes' })
    assert.deepEqual(shown(await loadSecretRing({ folder })), [10, `the JWT secret of '${folder}/a' is empty`])
  })
  it('a missing folder is rejected with the reason of the system', async (t) => {
    const folder = join(makeFolder(t), 'none')
    const message = `unable to read content of jwt-secret-folder '${folder}': no such file or directory. ${TAIL}`
    assert.deepEqual(shown(await loadSecretRing({ folder })), [34, message])
  })
  it('a file instead of a folder is rejected', async (t) => {
    const folder = join(makeFolder(t, { file: 'x' }), 'file')
    assert.deepEqual(shown(await loadSecretRing({ folder }))[0], 34)
  })
  it('a pipe in it is ignored', async (t) => {
    const folder = makeFolder(t, { b: 'yes' })
    execFileSync('mkfifo', [join(folder, 'a')])
    assert.deepEqual(shown(await loadSecretRing({ folder })), [digest('yes')])
  })
  it('a name that is not UTF-8 is read, and sorted by its bytes', async (t) => {
    const folder = makeFolder(t, { a: 'first', ü: 'second' })
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]), 'third')
    assert.deepEqual(shown(await loadSecretRing({ folder })), ['first', 'second', 'third'].map(digest))
  })
  it('links of a mounted secret are followed, before and after it is replaced', async (t) => {
    const folder = makeFolder(t, { '..1/new': 'one', '..1/old': 'two', '..2/new': 'three', '..2/old': 'one' })
    symlinkSync('..1', join(folder, '..data'))
    for (const name of ['new', 'old']) symlinkSync(join('..data', name), join(folder, name))
    assert.deepEqual(shown(await loadSecretRing({ folder })), ['one', 'two'].map(digest))
    symlinkSync('..2', join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    assert.deepEqual(shown(await reloadSecretRing({ folder })), ['three', 'one'].map(digest))
  })
  it('links out of the folder are ignored with a warning', async (t) => {
    const outside = makeFolder(t, { secret: 'outside' })
    const folder = makeFolder(t, { b: LONG })
    symlinkSync(join(outside, 'secret'), join(folder, 'a'))
    symlinkSync('..', join(folder, 'c'))
    const load = await loadSecretRing({ folder })
    assert.deepEqual(shown(load), [digest(LONG)])
    assert.deepEqual(
      warningsOf(load),
      ['a', 'c'].map((name) => `'${folder}/${name}' is a link that leads out of the folder: not read`),
    )
  })
  it('a sibling folder with the same prefix counts as outside', async (t) => {
    const parent = makeFolder(t, { 'keys/b': 'inside', 'keys-old/a': 'outside' })
    symlinkSync('../keys-old/a', join(parent, 'keys', 'a'))
    assert.deepEqual(shown(await loadSecretRing({ folder: join(parent, 'keys') })), [digest('inside')])
  })
  it('a folder that is a link itself is read', async (t) => {
    const parent = makeFolder(t, { 'real/a': 'yes' })
    symlinkSync('real', join(parent, 'link'))
    assert.deepEqual(shown(await loadSecretRing({ folder: join(parent, 'link') })), [digest('yes')])
  })
  it('a dangling link is rejected: the signing key must not change by accident', async (t) => {
    const folder = makeFolder(t, { b: 'yes' })
    symlinkSync('nowhere', join(folder, 'a'))
    assert.equal(shown(await loadSecretRing({ folder }))[0], 34)
  })
  it('the error about a dangling link names it', async (t) => {
    const folder = makeFolder(t, { b: 'yes' })
    symlinkSync('nowhere', join(folder, 'a'))
    const load = await loadSecretRing({ folder })
    assert.ok(load.kind === 'refused')
    assert.match(load.message, new RegExp(`^unable to read content of jwt-secret file '${folder}/a': no such file`))
  })
  it('ignored and short secrets cause warnings with their names', async (t) => {
    const folder = makeFolder(t, { a: LONG, b: 'short', c: toPem(PAIRS.rsa.publicKey) })
    assert.deepEqual(warningsOf(await loadSecretRing({ folder })), [
      `the JWT secret of '${folder}/b' is shorter than 32 bytes and can be guessed from a token`,
      `'${folder}/c' is ignored: no usable key: expected one unencrypted EC key on the curve P-256, in PEM`,
    ])
  })
  it('signs with an EC key and verifies with its public key elsewhere', async (t) => {
    const signing = await loadSecretRing({ folder: makeFolder(t, { a: EC }) })
    const other = toPrivatePem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)
    const verifying = await loadSecretRing({ folder: makeFolder(t, { a: other, b: EC_PUBLIC }) })
    assert.ok(signing.kind === 'ring' && verifying.kind === 'ring')
    assert.equal(verifyWithRing(signWithRing(signing.ring, {}), verifying.ring).kind, 'verified')
    for (const text of [EC_PUBLIC, EC_PUBLIC.trim(), ` ${EC_PUBLIC}`]) {
      assert.equal(verifyWithRing(makeSigned('HS256', text), verifying.ring).kind, 'refused')
    }
  })
})

describe('the source of secrets', () => {
  it('inline, not trimmed', async () => {
    const load = await loadSecretRing({ secret: ' jwtsecret-1 ' })
    assert.deepEqual([load.kind === 'ring' && load.source, ...shown(load)], ['secret', digest(' jwtsecret-1 ')])
  })
  it('inline, too long', async () =>
    assert.deepEqual(shown(await loadSecretRing({ secret: 'x'.repeat(65) })), TOO_LONG))
  it('a file and a folder exclude each other', async () => {
    const message = "please specify either '--server.jwt-secret-keyfile' or '--server.jwt-secret-folder' but not both."
    assert.deepEqual(shown(await loadSecretRing({ keyfile: '/a', folder: '/b' })), [10, message])
  })
  it('files win over an inline secret, with a warning', async (t) => {
    const folder = makeFolder(t, { a: LONG })
    for (const from of [{ folder }, { keyfile: join(folder, 'a') }]) {
      const load = await loadSecretRing({ ...from, secret: 'inline' })
      assert.deepEqual(shown(load), [digest(LONG)])
      assert.deepEqual(warningsOf(load), ['server.jwt-secret is not used: the secrets come from files'])
    }
  })
  it('without a source a random secret is created each time', async () => {
    const [one, two] = await Promise.all([loadSecretRing({}), loadSecretRing({ secret: '', keyfile: '', folder: '' })])
    assert.ok(one.kind === 'ring' && two.kind === 'ring')
    assert.deepEqual([one.source, two.source, one.warnings], ['random', 'random', []])
    assert.notEqual(one.ring.version, two.ring.version)
  })
  it('a random secret has 64 bytes and no zero among them', () => {
    let calls = 0
    const bytes = createRandomSecret((size) => Buffer.from(Array.from({ length: size }, (_, i) => (i + calls++) % 3)))
    assert.equal(bytes.length, 64)
    assert.equal(bytes.includes(0), false)
  })
  it('only files can be reloaded', async () => {
    for (const from of [{}, { secret: 'inline' }]) {
      assert.deepEqual(shown(await reloadSecretRing(from)), [10, 'no JWT secret file was specified'])
    }
  })
})
