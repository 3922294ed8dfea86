import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Refusal } from '../../src/base/errors.ts'
import type { Dialect } from '../../src/http/request-context.ts'
import { request, sendRaw } from '../support/raw.ts'
import { openTestDoor } from './bare-door.ts'

/** Puts its own name in every response, so that a test sees which dialect handled the request. */
const GUEST: Dialect = {
  name: 'guest',
  requestIdHeader: 'X-Guest-Id',
  readPath: (raw) => ({ raw, segments: raw.split('/').filter((part) => part !== '') }),
  steps: [],
  routes: [{ path: '/_guest/known', methods: { GET: () => ({ status: 200, headers: [], body: 'guest route' }) } }],
  fallback: () => {
    throw new Refusal('not_found')
  },
  renderError: (refusal) => ({ status: 418, headers: [], body: `guest ${refusal.code}` }),
  defaultHeaders: () => [['X-Guest', 'yes']],
}

const GUEST_PATHS = [
  { name: 'a route of the mounted dialect', path: '/_guest/known', body: 'guest route' },
  { name: 'the segment alone', path: '/_guest', body: 'guest not_found' },
  { name: 'the segment and a query', path: '/_guest?x', body: 'guest not_found' },
  {
    name: 'an invalid request, with the error of the mounted dialect',
    path: '/_guest/\\',
    body: 'guest invalid_target',
  },
]

const HOST_PATHS = ['/_guests', '/_guest%2Fknown', '/%5Fguest/known', '/x/_guest/known', '//_guest/known', '/_Guest']

for (const dialect of ['document', 'multi-model'] as const) {
  test(`at the ${dialect} door a mounted dialect handles its unencoded segment and nothing else`, async (t) => {
    const { port } = await openTestDoor(t, { dialect, mounts: [{ segment: '_guest', dialect: GUEST }] })
    for (const { name, path, body } of GUEST_PATHS) {
      const response = await sendRaw(port, request(path))
      assert.equal(response.body, body, name)
      assert.match(response.head, /X-Guest: yes/, name)
    }
    for (const path of HOST_PATHS) {
      const response = await sendRaw(port, request(path))
      assert.doesNotMatch(response.text, /guest (route|not_found)|X-Guest/, path)
    }
  })
}

test('creates a Unix socket with the given mode', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-socket-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, mode] of [
    ['private', 0o600],
    ['group', undefined],
  ] as const) {
    const path = join(folder, name)
    await openTestDoor(t, { endpoint: { kind: 'unix', path, ...(mode && { mode }) } })
    assert.equal(statSync(path).mode & 0o777, mode ?? 0o660, name)
    assert.notEqual((await sendRaw({ path }, request('/'))).status, 0)
  }
})
