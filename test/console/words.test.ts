// What the console says, without a browser.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeActor, listCircumstances } from '../../console/src/pages/audit/words.ts'
import { listSteps } from '../../console/src/pages/overview/list-steps.ts'
import { findPartPage, toPartLabel } from '../../console/src/pages/overview/part.ts'
import { texts } from '../../console/src/pages/overview/texts.ts'
import type { AuditRecordView } from '../../src/dialects/admin-api/schemas/system.ts'
import { describeClient } from '../../src/directory/store-port/sessions.ts'

const toRecord = (fields: object) => ({ event: 'user.created', subject: 'jo', ...fields }) as AuditRecordView

const say = (record: AuditRecordView) =>
  [describeActor(record, '{subject}')?.replace(/^/, 'by '), listCircumstances(record)].join('')

const SENTENCES: readonly [fields: object, said: string][] = [
  [{ actor: '_owner', door: 'control', handler: 'socket' }, 'by the owner of the server, with the command line'],
  [
    { actor: '_owner', door: 'control', handler: 'socket', peer: '10.0.0.7', count: 2 },
    'by the owner of the server, with the command line from 10.0.0.7, 2 times in a minute',
  ],
  [
    { actor: '_superuser', door: 'multi-model', handler: 'bearer', peer: '10.0.0.7' },
    'by the holder of a superuser token at the multi-model door with a token from 10.0.0.7',
  ],
  [
    { actor: 'admin', door: 'document', handler: '_session', peer: '::1', count: 3 },
    'by admin at the document door with a password from ::1, 3 times in a minute',
  ],
  [{ actor: 'constructor', door: 'document' }, 'by constructor at the document door'],
  [
    { actor: 'jo', door: 'document', handler: 'provider' },
    ' at the document door with an account at an identity provider',
  ],
]

describe('a sentence of the audit trail', () => {
  for (const [fields, said] of SENTENCES) it(`says "${said.trim()}"`, () => assert.equal(say(toRecord(fields)), said))
})

describe('the table "By credential"', () => {
  it('calls only the sign-in page a sign-in page', () => {
    const names = texts.handlerNames
    assert.equal(names['_session'], 'password at POST /_session')
    assert.equal(names['_open/auth'], 'password at POST /_open/auth')
    assert.equal(names['provider'], 'identity provider')
    assert.equal(names['socket'], 'command line')
    assert.equal(
      Object.entries(names)
        .filter(([, name]) => /sign-in page/.test(name))
        .join(),
      'account,sign-in page or app',
    )
  })
})

describe('the first steps of an installation', () => {
  const health = { upstreams: [], certificates: [], lastBackup: null }
  const done = (overview: object, isSecure = false) =>
    listSteps({ administrators: 1, health, ...overview }, isSecure).flatMap(({ name, isDone }) =>
      isDone ? [name] : [],
    )
  const ROWS: readonly [title: string, done: readonly string[], expected: readonly string[]][] = [
    ['are all open at first', done({}), []],
    ['include an upstream', done({ health: { ...health, upstreams: [{}] } }), ['upstream']],
    ['include a certificate of Cardea', done({ health: { ...health, certificates: [{}] } }), ['tls']],
    ['include TLS of a proxy', done({}, true), ['tls']],
    ['include a backup', done({ health: { ...health, lastBackup: { at: 1, records: 1 } } }), ['backup']],
    ['include a second administrator', done({ administrators: 2 }), ['administrator']],
  ]
  for (const [title, found, expected] of ROWS) it(title, () => assert.deepEqual(found, expected))
})

describe('a problem of a part', () => {
  for (const [part, label, page] of [
    ['keys', 'Secrets and keys', '#/secrets'],
    ['nodes', 'Other nodes', '#/nodes'],
    ['clock', 'Clock', undefined],
    ['provider.keycloak', 'Identity provider keycloak', '#/settings?search=provider'],
    ['upstream.document', 'CouchDB', undefined],
    ['something new', 'something new', undefined],
  ])
    it(`of ${part} is called ${label}, and leads to ${page ?? 'no page'}`, () =>
      assert.deepEqual([toPartLabel(part ?? ''), findPartPage(part ?? '')], [label, page]))
})

const AGENTS: Readonly<Record<string, string>> = {
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36':
    'Chrome on Linux',
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36':
    'Chrome on Linux',
  'Mozilla/5.0 (X11; CrOS x86_64 16181.61.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36':
    'Chrome on ChromeOS',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0 Mobile/15E148 Safari/604.1':
    'Chrome on iOS',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/144.0 Mobile/15E148 Safari/605.1.15':
    'Firefox on iOS',
  'Mozilla/5.0 (Linux; Android 15; SM-S931B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36':
    'Samsung Internet on Android',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36 EdgA/142.0.0.0':
    'Edge on Android',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) obsidian/1.9.14 Chrome/132.0.0.0 Electron/34.3.0 Safari/537.36':
    'App on macOS',
  'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/142.0.0.0 Mobile Safari/537.36':
    'Chrome on Android',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148':
    'App on iOS',
  'curl/8.14.1': 'curl/8.14.1',
  'nano/10': 'nano/10',
  '': '',
}

describe('a client', () => {
  for (const [agent, name] of Object.entries(AGENTS))
    it(`is shown as "${name}": ${agent.slice(0, 120)}`, () => assert.equal(describeClient(agent), name))
})
