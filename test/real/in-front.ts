/** Cardea and a real CouchDB behind it, both configured as the guide describes. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { readIni } from '../../src/config/ini.ts'
import { findBlock } from '../docs/page.ts'
import { basic } from '../support/request.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { type AnyOptions, startServer } from '../support/server.ts'
import type { Couchdb } from './couchdb.ts'

export interface Scene {
  readonly couchdb: Couchdb
  /** The document door; known once the tests run. */
  url(): string
  /** A database of this test's own, removed after it. */
  createDatabase(scope: Scope, security?: object): Promise<string>
  /** A user of Cardea, with a random password. */
  createUser(name: string, roles?: readonly string[]): Promise<Credentials>
}

export interface Credentials {
  readonly name: string
  readonly password: string
  readonly headers: { readonly Authorization: string }
}

export const GUIDE = 'docs/guides/couchdb.md'

const BLOCKS = {
  jwt: { couchdb: 'ini couchdb', cardea: 'ini local.ini' },
  proxy: { couchdb: 'ini example-couchdb-proxy', cardea: 'ini example-cardea-proxy' },
} as const

/** `more`: options of Cardea besides those of the guide. */
export function testInFront(
  couchdb: Couchdb,
  identity: keyof typeof BLOCKS,
  tests: (scene: Scene) => void,
  more: AnyOptions = {},
): void {
  describe(`in front of a real CouchDB, identity by ${identity}`, () => {
    let url = ''
    const clearing: (() => unknown)[] = []
    const scope: Scope = { after: (work) => clearing.unshift(work) }
    before(async () => {
      const secret = randomBytes(32).toString('hex')
      const folder = makeFolder(scope)
      // as an editor or `openssl rand` leaves it: with a newline at its end
      writeFileSync(join(folder, 'document-secret'), `${secret}\n`, { mode: 0o600 })
      scope.after(await couchdb.configure(fillSecret(findBlock(GUIDE, BLOCKS[identity].couchdb), secret)))
      const block = findBlock(GUIDE, BLOCKS[identity].cardea).replace('127.0.0.1:15984', couchdb.host)
      url = (await startServer(scope, toOptions(block.replace('@file:', `@file:${folder}/`)), more)).document
    })
    after(async () => {
      for (const clear of clearing) await clear()
    })
    tests(createScene(couchdb, () => url))
  })
}

export const fillSecret = (ini: string, secret: string): string =>
  ini.replace('BASE64-SECRET', Buffer.from(secret).toString('base64')).replace('SECRET', secret)

function toOptions(ini: string): Record<string, Record<string, string>> {
  const options: Record<string, Record<string, string>> = {}
  for (const { section, key, text } of readIni(ini).entries) options[section] = { ...options[section], [key]: text }
  return options
}

const JSON_TYPE = { 'Content-Type': 'application/json' }
const ADMIN_HEADERS = { Authorization: basic('admin', 'adminpw') }

function createScene(couchdb: Couchdb, url: () => string): Scene {
  return {
    couchdb,
    url,
    async createDatabase(scope, security) {
      const name = `cardea-test-${randomBytes(6).toString('hex')}`
      await couchdb.request('PUT', `/${name}`)
      scope.after(() => couchdb.request('DELETE', `/${name}`))
      if (security) await couchdb.request('PUT', `/${name}/_security`, security)
      return name
    },
    async createUser(name, roles = []) {
      const password = randomBytes(12).toString('hex')
      const body = JSON.stringify({ name, type: 'user', password, roles })
      const headers = { ...ADMIN_HEADERS, ...JSON_TYPE }
      const response = await fetch(`${url()}/_users/org.couchdb.user:${name}`, { method: 'PUT', headers, body })
      if (response.status !== 201) throw new Error(`${name}: ${response.status} ${await response.text()}`)
      return { name, password, headers: { Authorization: basic(name, password) } }
    },
  }
}
