/** A real CouchDB that these tests may change: CARDEA_TEST_COUCHDB is its URL with an administrator's credentials. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { readIni } from '../../src/config/ini.ts'
import { basic } from '../support/request.ts'

export const COUCHDB_URL = process.env['CARDEA_TEST_COUCHDB'] ?? ''

/** A second one, for what is replicated between two. */
export const SECOND_COUCHDB_URL = process.env['CARDEA_TEST_COUCHDB_2'] ?? ''

const JSON_TYPE = { 'Content-Type': 'application/json' }

export interface Couchdb {
  /** Its address without credentials, and with the administrator's. */
  readonly url: string
  readonly urlWithCredentials: string
  readonly host: string
  /** As the administrator, or as the request's own headers say. */
  fetch(path: string, request?: RequestInit): Promise<Response>
  /** The parsed body of a response that must be a success. */
  request(method: string, path: string, body?: unknown): Promise<unknown>
  /** Sets every line of an ini text and restarts it where that is needed. Returns what undoes it. */
  configure(ini: string): Promise<() => Promise<void>>
}

export function connectCouchdb(given: string): Couchdb {
  const { origin: url, host, username, password, href } = new URL(given)
  const authorization = basic(decodeURIComponent(username), decodeURIComponent(password))
  const fetchAt: Couchdb['fetch'] = (path, request = {}) =>
    fetch(`${url}${path}`, { ...request, headers: { Authorization: authorization, ...request.headers } })
  const requestAt: Couchdb['request'] = async (method, path, body) => {
    const payload = body === undefined ? {} : { body: JSON.stringify(body), headers: JSON_TYPE }
    const response = await fetchAt(path, { method, ...payload })
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }
  return {
    url,
    urlWithCredentials: href.replace(/\/$/, ''),
    host,
    fetch: fetchAt,
    request: requestAt,
    configure: (ini) => configure({ fetch: fetchAt, request: requestAt }, ini),
  }
}

type Requests = Pick<Couchdb, 'fetch' | 'request'>

/** Where it listens is decided by who started it. */
const PLACES = new Set(['chttpd/port', 'chttpd/bind_address'])

async function configure(couchdb: Requests, ini: string): Promise<() => Promise<void>> {
  const { entries, unparsable } = readIni(ini)
  assert.deepEqual(unparsable, [])
  const undo: (() => Promise<unknown>)[] = []
  for (const { section, key, text } of entries) {
    if (PLACES.has(`${section}/${key}`)) continue
    undo.push(await setOption(couchdb, `/_node/_local/_config/${section}/${encodeURIComponent(key)}`, text))
  }
  await restart(couchdb)
  return async () => {
    for (const step of undo.reverse()) await step()
    await restart(couchdb)
  }
}

async function setOption({ fetch, request }: Requests, path: string, value: string) {
  const before = await fetch(path)
  const previous = before.ok ? await before.json() : undefined
  await request('PUT', path, value)
  return () => (previous === undefined ? request('DELETE', path) : request('PUT', path, previous))
}

const MARK = '/_node/_local/_config/cardea_test/running'

/**
 * CouchDB reads the list of handlers when it starts. A value that is not persisted is lost in a restart, which tells
 * the new server from the old one.
 */
async function restart({ fetch, request }: Requests): Promise<void> {
  await fetch(MARK, { method: 'PUT', body: '"yes"', headers: { 'X-Couch-Persist': 'false' } })
  await request('POST', '/_node/_local/_restart', {})
  for (let attempt = 0; attempt < 300; attempt += 1) {
    const mark = await fetch(MARK).catch(() => undefined)
    if (mark?.status === 404 && (await isServing(fetch))) return
    await pause(100)
  }
  assert.fail('CouchDB did not come back after its restart')
}

/** The replicator starts after the rest: `/_up` does not cover it. */
const isServing = async (fetch: Requests['fetch']): Promise<boolean> =>
  (await fetch('/_up')).ok && (await fetch('/_scheduler/jobs')).ok
