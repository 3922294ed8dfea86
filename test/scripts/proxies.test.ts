import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parseDocument } from 'yaml'

const load = (path: string) => import(new URL(`../long/${path}`, import.meta.url).href)
const { listPresent, runProxy } = await load('proxies.ts')
const { PROXIES } = await load('proxies/programs.ts')

const page = readFileSync(new URL('../../docs/guides/protect-an-application.md', import.meta.url), 'utf8')

const ADDRESSES = { folder: '/f', port: 8080, gate: '127.0.0.1:1111', application: '127.0.0.1:2222' }

describe('the examples of proxies', () => {
  for (const name of Object.keys(PROXIES)) {
    it(`the script finds the example for ${name} in the page`, () => {
      const text: string = PROXIES[name].render(ADDRESSES)
      for (const address of ['127.0.0.1:8080', ADDRESSES.gate, ADDRESSES.application])
        assert.ok(text.includes(address), address)
      assert.ok(page.includes(`\`npm run test:long -- ${name}\` runs this text`))
    })
  }

  // Debian has no Traefik to run: checks the lines that its safety depends on
  const TRAEFIK_LINES: readonly string[] = [
    'aliasHeadersStrategy: delete',
    'authRequestHeaders: [Authorization, Cookie]',
    'authResponseHeaders: [X-Auth-User, X-Auth-User-Id, X-Auth-Roles, X-Auth-Token]',
    'preserveLocationHeader: true',
    'Authorization: ""',
    'Remote-User: ""',
    'X-Auth-CouchDB-UserName: ""',
    'middlewares: [cardea, unclaimed]',
  ]
  const TRAEFIK = ['static', 'dynamic', 'sign-in'].map((name) => {
    const text = readFileSync(new URL(`../../deploy/traefik/${name}.yaml`, import.meta.url), 'utf8')
    assert.deepEqual(parseDocument(text).errors, [])
    return text
  })
  for (const line of TRAEFIK_LINES) {
    it(`the Traefik example contains ${line}`, () => {
      assert.ok(TRAEFIK.join('').includes(line))
    })
  }

  // only where the program is installed
  for (const name of listPresent()) {
    it(`${name} behaves as the page says`, async () => {
      for (const { door, title, reply, isRight } of await runProxy(name))
        assert.ok(isRight, `${door}: ${title} → ${JSON.stringify(reply)}`)
    })
  }
})
