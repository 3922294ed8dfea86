import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { IniFile } from '../../src/config/ini.ts'
import { readSettings } from '../../src/config/read.ts'
import type { Assignment } from '../../src/config/settings.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { findDiscovery } from '../../src/modules/providers/options.ts'

const readFile = (file: IniFile, flags: readonly Assignment[] = [], environment: Record<string, string> = {}) =>
  readSettings({
    table: OPTION_TABLE,
    defaults: [],
    files: [file],
    runtime: [],
    environment,
    flags,
    cwd: '/',
    readSecret: (path) => `text of ${path}`,
  })

const read = (text: string, environment: Record<string, string> = {}) =>
  readFile({ path: 'a.ini', text: `[admins]\nroot = -pbkdf2-x,y,1\n${text}` }, [], environment)

const SHOP = '[provider:shop]\nissuer = https://id.example.com\naudience = cardea\n'

describe('[provider:<name>]', () => {
  it('is read from files and the environment', () => {
    const { settings, problems } = read(SHOP, {
      CARDEA_PROVIDER__SHOP__CLIENT_ID: 'web',
    })
    assert.deepEqual(problems, [])
    const [provider] = settings.named.provider
    assert.equal(provider?.values['client-id'], 'web')
    assert.equal(provider?.values.users, 'link')
  })

  it('has its secret in a file', () => {
    const { settings, problems } = read(SHOP, { CARDEA_PROVIDER__SHOP__CLIENT_SECRET: '@file:/run/secret' })
    assert.deepEqual(problems, [])
    assert.equal(settings.named.provider[0]?.values['client-secret'], 'text of /run/secret')
  })

  it('has a secret that a file which others can read must not contain', () => {
    const text = `[admins]\nroot = -pbkdf2-x,y,1\n${SHOP}client-secret = hidden\n`
    const { warnings } = readFile({ path: 'a.ini', text, mode: 0o644 })
    assert.deepEqual(warnings, [
      'this file is readable by others and contains a plain-text secret ([provider:shop] client-secret): chmod 600 a.ini (a.ini)',
    ])
  })

  it('has a secret that a command line must not contain', () => {
    const flag = { kind: 'flag', name: '--provider:shop.client-secret' } as const
    const { warnings } = readFile({ path: 'a.ini', text: SHOP }, [
      { section: 'provider:shop', key: 'client-secret', text: 'hidden', source: flag },
    ])
    assert.match(warnings.join(), /^other users of this machine can read a command line;/)
    assert.doesNotMatch(warnings.join(), /hidden/)
  })

  const documents: readonly [name: string, text: string, url: string][] = [
    ['below the issuer', '', 'https://id.example.com'],
    [
      'below a tenant',
      'issuer = https://e.com/{tenantid}/v2.0\ntenants = a.example.com',
      'https://e.com/a.example.com/v2.0',
    ],
    ['for all tenants', 'issuer = https://e.com/{tenantid}/v2.0\ntenants = a, b', 'https://e.com/organizations/v2.0'],
  ]
  for (const [name, text, url] of documents)
    it(`has its discovery document ${name}`, () => {
      const [provider] = read(`${SHOP}${text}`).settings.named.provider
      const values = provider?.values ?? assert.fail()
      assert.equal(findDiscovery(values), `${url}/.well-known/openid-configuration`)
      assert.equal(findDiscovery({ ...values, discovery: 'https://x.example' }), 'https://x.example')
    })

  const wrong: readonly [name: string, text: string, message: RegExp][] = [
    ['without TLS', '[provider:a]\nissuer = http://id.example.com\naudience = x', /expected an https/],
    ["with the issuer of Cardea's own tokens", '[provider:a]\nissuer = arangodb\naudience = x', /expected an https/],
    ['without an audience', '[provider:a]\nissuer = https://id.example.com', /audience is missing/],
    ['without an issuer', '[provider:a]\naudience = x', /issuer is missing/],
    [
      'with an issuer of another provider',
      `${SHOP}[provider:b]\nissuer = https://id.example.com\naudience = x`,
      /already/,
    ],
    ['with a symmetric algorithm', `${SHOP}algorithms = HS256`, /asymmetric/],
    ['with an unknown option', `${SHOP}audiense = x`, /unknown option/],
    [
      'that gives created users a role of the server',
      `${SHOP}users = create\nrole-map = a=b, boss= _Admin`,
      /asserted users only/,
    ],
    ['that makes linked users administrators', `${SHOP}role-map = boss=_admin`, /asserted users only/],
    ['without a name', '[provider]\nissuer = https://id.example.com', /name the section/],
    ['with tenants that are missing', '[provider:a]\nissuer = https://e.com/{tenantid}\naudience = x', /tenants/],
    ...['common', 'a, organizations', 'consumers', 'TENANT-A', '..', '.', 'a-', '{tenantid}'].map(
      (tenants): [string, string, RegExp] => [
        `with the tenants ${tenants}`,
        `${SHOP}issuer = https://e.com/{tenantid}\ntenants = ${tenants}`,
        /expected tenant ids in small letters/,
      ],
    ),
  ]
  for (const [name, text, message] of wrong)
    it(`is refused ${name}`, () => {
      assert.match(
        read(text)
          .problems.map((problem) => problem.message)
          .join('\n'),
        message,
      )
    })
})
