import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { type MultiModel, openMultiModel, superuser } from '../../support/multi-model.ts'
import { request, sendRaw } from '../../support/raw.ts'
import { AS_ADMIN } from '../../support/request.ts'

const PATHS = readFileSync(new URL('../../fixtures/hostile-paths.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('# '))

/** Paths that look odd and mean one thing. */
const HARMLESS: readonly (readonly [string, number])[] = [
  ['/my-app/hello%20world', 404],
  ['/my-app/100%25', 404],
  ['/my-app/a;b=c', 404],
  ['/my-app/...', 404],
  ['/my-app/caf%C3%A9', 404],
  ['/my-app/%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB', 404],
  ['/my-app/a_b', 404],
  ['/_open/auth/', 405],
  ['/_API/version', 401],
  ['/_api;x/version', 401],
  ['/_open;x/auth', 401],
  ['/_openx/auth', 401],
  ['/_open', 401],
  ['/_admin/server/availability?x=/../_api/version', 200],
  ['/_admin/server/jwt?/_open/auth', 401],
]

describe('ambiguous paths', () => {
  let port = 0
  let close: () => unknown = () => {}
  before(async () => {
    const door: MultiModel = await openMultiModel({
      after: (work) => {
        close = work
      },
    })
    port = Number(new URL(door.url).port)
  })
  after(() => close())

  it('there are enough of them', () => assert.ok(PATHS.length >= 60, String(PATHS.length)))

  for (const path of PATHS) {
    it(`rejects ${path}`, async () => {
      for (const headers of [[], [`Authorization: ${AS_ADMIN}`], [`Authorization: ${superuser()}`]]) {
        const answer = await sendRaw(port, request(path, ...headers))
        assert.equal(answer.status, 400, answer.text)
      }
    })
  }
  for (const [path, status] of HARMLESS) {
    it(`${path} is not ambiguous: ${status}`, async () => {
      assert.equal((await sendRaw(port, request(path))).status, status)
    })
  }
})
