import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { configCommand } from '../../src/cli/config.ts'
import { ExitError } from '../../src/cli/context.ts'
import { splitFlags } from '../../src/config/flags.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { createAuthority } from '../support/certificates.ts'

const cwd = mkdtempSync(join(tmpdir(), 'cardea-cli-'))
after(() => rmSync(cwd, { recursive: true, force: true }))
// the folder of the default store: check reports a missing one
mkdirSync(join(cwd, 'data'))
writeFileSync(join(cwd, 'good.ini'), '[chttpd]\nport = 1\n[chttpd_auth]\nsecret = hush\n[vendor]\na = 1\n', {
  mode: 0o600,
})
writeFileSync(join(cwd, 'bad.ini'), '[chttpd]\nprot = 1\nport = x\n', { mode: 0o600 })

interface Outcome {
  readonly out: string
  readonly code: number
  readonly error: string
}

/** Most rows are about something else than administrators: so that there is one, it is given as a flag. */
const ADMINISTRATOR = `--admins.root=-pbkdf2-${'0'.repeat(64)},salt,1`

const run = (...argv: readonly string[]): Promise<Outcome> =>
  runAlone(...argv, ...(argv[0] === 'check' ? [ADMINISTRATOR] : []))

async function runAlone(...argv: readonly string[]): Promise<Outcome> {
  const lines: string[] = []
  const flags = splitFlags(argv, OPTION_TABLE)
  const context = { flags, env: {}, cwd, print: (text: string) => void lines.push(text), printError: () => {} }
  try {
    await configCommand(context).parseAsync([...flags.rest], { from: 'user' })
    return { out: lines.join('\n'), code: 0, error: '' }
  } catch (error) {
    if (!(error instanceof ExitError)) throw error
    return { out: lines.join('\n'), code: error.exitCode, error: error.message }
  }
}

test('show prints set options, --all defaults too, --json as JSON', async () => {
  const { out } = await run('show', '-c', 'good.ini')
  assert.equal(
    out,
    [
      'chttpd.port = 1  (good.ini:2)',
      'chttpd_auth.secret = ***  (good.ini:4)',
      'vendor.a = 1  (good.ini:6; ignored)',
    ].join('\n'),
  )
  assert.match((await run('show', '--all')).out, /^log\.level = info {2}\(default\)$/m)
  const lines = await run('show', '--json', '-c', 'good.ini')
  const shown = lines.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(shown[0], { name: 'chttpd.port', value: '1', source: 'good.ini:2', isDefault: false })
  assert.equal(shown.length, 3)
})

test('get prints one value, a secret masked', async () => {
  assert.equal((await run('get', 'chttpd.port', '-c', 'good.ini')).out, '1')
  assert.equal((await run('get', 'chttpd_auth.secret', '-c', 'good.ini')).out, '***')
  assert.equal((await run('get', 'log.level', '--log.level', 'warn')).out, 'warn')
})

test('get of an unknown option exits with 3 and names the nearest', async () => {
  const { code, error } = await run('get', 'chttpd.prot')
  assert.equal(code, 3)
  assert.match(error, /did you mean chttpd\.port\?/)
})

test('check warns of a file with administrators that others can read', async () => {
  writeFileSync(join(cwd, 'open.ini'), '[admins]\nann = -pbkdf2-a,b,1\n')
  chmodSync(join(cwd, 'open.ini'), 0o644)
  const { code, out } = await run('check', '-c', 'open.ini')
  assert.deepEqual([code, /warning: this file is readable by others.* \(open\.ini\)/.test(out)], [0, true])
})

test('check prints warnings, and problems with their exit code', async () => {
  const good = await run('check', '-c', 'good.ini')
  assert.equal(good.code, 0)
  assert.match(good.out, /warning: ignored, .*\[vendor\] a\n/)
  assert.match(good.out, /no problems/)
  const bad = await run('check', '-c', 'bad.ini')
  assert.equal(bad.code, 3)
  assert.equal(bad.error.split('\n').length, 2)
  assert.equal((await run('check', '--chttpd.port', 'x')).code, 4)
  assert.equal((await run('check', '-c', 'nowhere')).code, 6)
  assert.equal((await run('check', '--ssl.enable')).code, 1)
})

test('check reports that there is no administrator, as a start does', async () => {
  const { code, error } = await runAlone('check', '-c', 'good.ini')
  assert.equal(code, 1)
  assert.match(error, /administrator/)
  const malformed = await runAlone('check', '--admins.root=-pbkdf2-a,b')
  assert.equal(malformed.code, 1)
  assert.match(malformed.error, /administrator root is malformed/)
  assert.equal((await runAlone('check', '--admins.root=in clear')).code, 0)
})

const TLS = fileURLToPath(new URL('../fixtures/tls', import.meta.url))

test('check warns of an expired certificate, and of a private key that others can read', async () => {
  const { cert, key } = createAuthority(cwd, 'old').issue({
    subject: '/CN=localhost',
    from: '20200101000000Z',
    to: '20200201000000Z',
  })
  const [certFile, keyFile] = [join(cwd, 'old.pem'), join(cwd, 'old.key')]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  chmodSync(keyFile, 0o644)
  const tls = ['--ssl.enable', '--ssl.cert_file', certFile, '--ssl.key_file', keyFile]
  const { code, out } = await run('check', ...tls)
  assert.equal(code, 0)
  assert.match(
    out,
    /^warning: ssl\.cert_file: the certificate in \S+old\.pem expired on 2020-02-01, and clients reject it$/m,
  )
  assert.match(out, /^warning: ssl\.key_file: others can read or write the private key: chmod 600 \S+old\.key$/m)
  chmodSync(keyFile, 0o640)
  assert.doesNotMatch((await run('check', ...tls)).out, /private key/)
})

mkdirSync(join(cwd, 'empty'))
mkdirSync(join(cwd, 'dangling'))
symlinkSync('gone', join(cwd, 'dangling', '1.key'))
writeFileSync(join(cwd, 'long'), 'x'.repeat(65))
writeFileSync(join(cwd, 'secret'), 'a secret of tokens')
writeFileSync(join(cwd, 'set.json'), '{"keys":7}')

const BAD_FILES: readonly (readonly [row: string, file: string, says: RegExp])[] = [
  [
    'a missing secret file',
    '[server]\njwt-secret-keyfile = gone',
    /^the secret file '.*gone' cannot be read: no such file.* \(c\.ini:2\)$/,
  ],
  [
    'a secret that is too long',
    '[server]\njwt-secret-keyfile = long',
    /^the secret in '.*long' is longer than 64 bytes \(c\.ini:2\)$/,
  ],
  [
    'a folder without secrets',
    '[server]\njwt-secret-folder = empty',
    /^the folder of secrets '.*empty' contains no .* \(c\.ini:2\)$/,
  ],
  ['a dangling link', '[server]\njwt-secret-folder = dangling', /^.*1\.key.* \(c\.ini:2\)$/],
  ['a missing certificate', '[server]\nendpoint = ssl://127.0.0.1:1\n[ssl]\nkeyfile = gone', /^.* \(c\.ini:4\)$/],
  [
    'a missing certificate of the admin endpoint',
    '[admin]\nendpoint = ssl://127.0.0.1:1\n[ssl]\nkeyfile = gone',
    /^ssl\.keyfile: \S*gone: there is no such file \(c\.ini:4\)$/,
  ],
  [
    'a file without a certificate',
    `[ssl]\nenable = true\ncert_file = secret\nkey_file = ${TLS}/key.pem`,
    /^ssl\.cert_file: \S*secret: the file contains no certificate in PEM \(c\.ini:3\)$/,
  ],
  ['a missing key set', '[jwt_keys]\njwks:all = gone', /^\[jwt_keys\] jwks:all: .* \(c\.ini:2\)$/],
  ['a file without a key set', '[jwt_keys]\njwks:all = set.json', /^\[jwt_keys\] jwks:all: .* \(c\.ini:2\)$/],
  ['a service key file without a key', '[upstream]\nservice-keyfile = secret', /^.*no private key.* \(c\.ini:2\)$/],
  [
    'a missing secret file of an upstream',
    '[upstream]\nmulti-model-secret-keyfile = gone',
    /^.*no such file.* \(c\.ini:2\)$/,
  ],
]

for (const [row, file, says] of BAD_FILES) {
  test(`check reads the files that options name: ${row}`, async () => {
    writeFileSync(join(cwd, 'c.ini'), `${file}\n`, { mode: 0o600 })
    const { code, error } = await run('check', '-c', 'c.ini')
    assert.deepEqual([code, error.split('\n').length], [6, 1], error)
    assert.match(error, says)
  })
}

const LONG = 'a secret long enough for a set of keys'
writeFileSync(
  join(cwd, 'shared.json'),
  JSON.stringify({ keys: [{ kty: 'oct', kid: 'k', alg: 'HS256', k: Buffer.from(LONG).toString('base64url') }] }),
)
const COOKIES = '[chttpd_auth]\nsecret = a secret of tokens\n'
const KEY = `[jwt_keys]\n; mine\nhmac:a = ${Buffer.from('a secret of tokens').toString('base64')}\n`

const SHARED: readonly (readonly [row: string, file: string, says: RegExp])[] = [
  [
    'cookies and tokens',
    `${COOKIES}[server]\njwt-secret-keyfile = secret`,
    /^a secret of tokens is also.* \(c\.ini:4, c\.ini:2\)$/,
  ],
  [
    'cookies and the upstream',
    `${COOKIES}[upstream]\nmulti-model-secret-keyfile = secret`,
    /^a secret of upstream\.multi-model-secret-\* is also chttpd_auth\.secret.* \(c\.ini:4, c\.ini:2\)$/,
  ],
  [
    'tokens and the upstream',
    '[server]\njwt-secret = a secret of tokens\n[upstream]\nmulti-model-secret-keyfile = secret',
    /^.* \(c\.ini:2, c\.ini:4\)$/,
  ],
  [
    'tokens and the upstream, by path',
    '[server]\njwt-secret-keyfile = secret\n[upstream]\nmulti-model-secret-keyfile = secret',
    /^.* \(c\.ini:2, c\.ini:4\)$/,
  ],
  ['cookies and a key', `[server]\njwt-secret = another\n${COOKIES}${KEY}`, /^.*hmac:a.* \(c\.ini:4, c\.ini:7\)$/],
  [
    'tokens and a key',
    `[server]\njwt-secret-keyfile = secret\n${COOKIES.replace('of', 'not')}${KEY}`,
    /^.* \(c\.ini:2, c\.ini:7\)$/,
  ],
  [
    'cookies and a key of a set',
    `[chttpd_auth]\nsecret = ${LONG}\n[jwt_keys]\njwks:all = shared.json`,
    /^chttpd_auth\.secret is.* \(c\.ini:2, c\.ini:4\)$/,
  ],
]

for (const [row, file, says] of SHARED) {
  test(`check exits with 1 for a secret with two uses and names both places: ${row}`, async () => {
    writeFileSync(join(cwd, 'c.ini'), `${file}\n`, { mode: 0o600 })
    const { code, error } = await run('check', '-c', 'c.ini')
    assert.deepEqual([code, error.split('\n').length], [1, 1], error)
    assert.match(error, says)
  })
}

test('check reports every problem of files, and none for valid ones', async () => {
  const tls = `endpoint = ssl://127.0.0.1:1\n[ssl]\nkeyfile = ${TLS}/both.pem\n`
  writeFileSync(join(cwd, 'c.ini'), `[server]\njwt-secret-keyfile = secret\n${tls}`, { mode: 0o600 })
  assert.equal((await run('check', '-c', 'c.ini')).code, 0)
  const bad = await run('check', '--server.jwt-secret-keyfile', 'gone', '--upstream.service-keyfile', 'gone')
  assert.equal(bad.code, 6)
  assert.match(bad.error, /^.* \(--server\.jwt-secret-keyfile\)\n.* \(--upstream\.service-keyfile\)$/)
})

test('check reads the services', async () => {
  const { code, error } = await run('check', '--services.a', '/a http://127.0.0.1:1', '--services.b', '/_b x')
  assert.equal(code, 4)
  assert.match(error, /^\[services\] b: .* \(--services\.b\)$/)
})

test('show and get of an invalid configuration print its problems', async () => {
  for (const words of [['show'], ['get', 'chttpd.port']]) assert.equal((await run(...words, '-c', 'bad.ini')).code, 3)
})
