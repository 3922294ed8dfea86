import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { loadTlsFiles } from '../../src/http/tls-files.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
const CERT = readFileSync(fixture('cert.pem'), 'utf8')
const KEY = readFileSync(fixture('key.pem'), 'utf8')

const folder = mkdtempSync(join(tmpdir(), 'cardea-tls-'))
after(() => rmSync(folder, { recursive: true }))

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

mkdirSync(join(folder, 'folder'))
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const encrypted = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' } as const
const DAMAGED = (kind: string): string => `-----BEGIN ${kind}-----\nAAAA\n-----END ${kind}-----\n`

const ROWS: readonly (readonly [name: string, cert: string, key: string, says: RegExp])[] = [
  ['an option that is not set', '', fixture('key.pem'), /^ssl\.cert_file is not set$/],
  ['a missing file', join(folder, 'gone'), fixture('key.pem'), /^ssl\.cert_file: \S*gone: there is no such file$/],
  ['a folder', join(folder, 'folder'), fixture('key.pem'), /^ssl\.cert_file: \S*folder: it is a folder$/],
  ['a file that is too large', file('large', 'x'.repeat(1_048_577)), fixture('key.pem'), /it is larger than/],
  ['a file without a certificate', fixture('key.pem'), fixture('key.pem'), /contains no certificate in PEM$/],
  ['a damaged certificate', file('c1', DAMAGED('CERTIFICATE')), fixture('key.pem'), /the certificate is damaged$/],
  [
    'a damaged certificate in the chain',
    file('c2', `${CERT}${DAMAGED('CERTIFICATE')}`),
    fixture('key.pem'),
    /^ssl\.cert_file: \S*c2: a certificate in the chain is damaged$/,
  ],
  [
    'a file without a key',
    fixture('cert.pem'),
    fixture('cert.pem'),
    /^ssl\.key_file: .* contains no private key in PEM$/,
  ],
  ['a damaged key', fixture('cert.pem'), file('k1', DAMAGED('PRIVATE KEY')), /the private key is damaged$/],
  [
    'an encrypted key',
    fixture('cert.pem'),
    file('k2', createPrivateKey(KEY).export(encrypted).toString()),
    /^ssl\.key_file: \S*k2: the private key is encrypted: store it without a passphrase$/,
  ],
  [
    'a key of another certificate',
    fixture('cert.pem'),
    file('k3', other.export({ type: 'pkcs8', format: 'pem' }).toString()),
    /^ssl\.key_file: \S*k3: the private key does not belong to the certificate in \S*cert\.pem$/,
  ],
]

describe('TLS files', () => {
  it('are loaded', () => {
    const load = loadTlsFiles({
      cert: named('ssl.cert_file', fixture('cert.pem')),
      key: named('ssl.key_file', fixture('key.pem')),
      protocol: {},
    })
    assert.deepEqual(load, { kind: 'files', files: { cert: CERT, key: KEY } })
  })
  for (const [name, cert, key, says] of ROWS)
    it(`name the option, the file and the problem: ${name}`, () => {
      const load = loadTlsFiles({ cert: named('ssl.cert_file', cert), key: named('ssl.key_file', key), protocol: {} })
      assert.equal(load.kind, 'problem')
      assert.match(load.kind === 'problem' ? load.message : '', says)
    })
  it('of another user are reported', { skip: process.getuid?.() === 0 && 'root can read every file' }, () => {
    const path = file('private', CERT)
    chmodSync(path, 0)
    const load = loadTlsFiles({ cert: named('ssl.keyfile', path), key: named('ssl.keyfile', path), protocol: {} })
    assert.match(load.kind === 'problem' ? load.message : '', /this process may not read the file$/)
  })
})

const named = (option: string, path: string) => ({ option, path })
