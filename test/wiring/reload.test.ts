import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Log } from '../../src/base/log.ts'
import { createTestCardea } from '../../src/index.ts'
import { superuser } from '../support/multi-model.ts'
import { get } from '../support/process.ts'
import { makeFolder } from '../support/scope.ts'

const FIRST = 'one-secret-that-is-long-enough-for-all'
const KEY = { kty: 'oct', kid: 'a', alg: 'HS256', k: Buffer.alloc(32, 'k').toString('base64url') }
const SET = JSON.stringify({ keys: [KEY] })
const CALM = '[chttpd]\nrequire_valid_user = false\n'
const STRICT = '[chttpd]\nrequire_valid_user = true\n'

type Line = readonly [message: string, fields: string]

function createHeard(): { readonly log: Log; readonly lines: Line[] } {
  const lines: Line[] = []
  const add = (message: string, fields = {}) => void lines.push([message, JSON.stringify(fields)])
  return { lines, log: { debug: add, info: add, warn: add, error: add } }
}

/** A server on a configuration file, a file with the secret of tokens, and one with a key set. */
async function open(t: TestContext, text = CALM) {
  const folder = makeFolder(t)
  const [ini, secret, set] = ['a.ini', 'secret', 'set.json'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const keys = `[jwt_keys]\njwks:set = set.json\n`
  const write = (config: string) => writeFileSync(ini, `${config}${keys}`, { mode: 0o600 })
  write(text)
  writeFileSync(secret, FIRST)
  writeFileSync(set, SET)
  const { log, lines } = createHeard()
  const cardea = await createTestCardea({ files: [ini], log, options: { server: { 'jwt-secret-keyfile': secret } } })
  t.after(() => cardea.close())
  const doors = await cardea.listen()
  return {
    cardea,
    lines,
    secret,
    set,
    write,
    isStrict: async () => (await get(`${doors.document[0]}/`)).status === 401,
    async isSigning(text: string) {
      const authorization = superuser({}, { secret: text })
      const response = await fetch(`${doors.multiModel[0]}/_api/version`, { headers: { authorization } })
      await response.body?.cancel()
      return response.status === 200
    },
  }
}

const NEXT = 'another-secret-that-is-long-enough-too'

describe('a reload', () => {
  it('reports which changes wait for a restart, including services', async (t) => {
    const { cardea, lines, write } = await open(t)
    write(`${CALM}[services]\nshop = /shop http://127.0.0.1:1\n`)
    const { isApplied, changed, needRestart } = await cardea.reload()
    assert.deepEqual([isApplied, changed, needRestart], [true, [], ['services.shop']])
    assert.deepEqual(lines.at(-1), ['these changes take effect after a restart', '{"options":["services.shop"]}'])
  })

  it('with an invalid configuration keeps the token secrets and reports every problem', async (t) => {
    const { cardea, secret, set, write, isSigning } = await open(t)
    write('[chttpd]\nprot = 1\n')
    writeFileSync(secret, NEXT)
    const first = await cardea.reload()
    assert.equal(first.isApplied, false)
    assert.deepEqual([await isSigning(FIRST), await isSigning(NEXT)], [true, false])
    writeFileSync(secret, '')
    rmSync(set)
    const { problems } = await cardea.reload()
    assert.equal(problems.length, 3, problems.join('\n'))
    for (const place of [/prot.*a\.ini:2\)$/, /jwt-secret-keyfile: .*secret' is empty/, /jwks:set.*a\.ini:4\)$/]) {
      assert.ok(
        problems.some((problem) => place.test(problem)),
        problems.join('\n'),
      )
    }
  })

  const rows: readonly [row: string, break_: (scene: Awaited<ReturnType<typeof open>>) => void, says: RegExp][] = [
    ['an invalid token secret', ({ secret }) => writeFileSync(secret, ''), /jwt-secret-keyfile: .*empty/],
    [
      'a missing file of the token secret',
      ({ secret }) => rmSync(secret),
      /jwt-secret-keyfile: the secret file '.*' cannot be read: no such file/,
    ],
    ['a missing file of the key set', ({ set }) => rmSync(set), /^\[jwt_keys\] jwks:set: .*a\.ini:4\)$/],
    ['a truncated key set', ({ set }) => writeFileSync(set, SET.slice(0, 20)), /^\[jwt_keys\] jwks:set: .*a\.ini:4\)$/],
  ]
  for (const [row, breakIt, says] of rows) {
    it(`with ${row} keeps the configuration`, async (t) => {
      const scene = await open(t)
      scene.write(STRICT)
      breakIt(scene)
      const report = await scene.cardea.reload()
      assert.equal(report.isApplied, false)
      assert.equal(report.problems.length, 1, report.problems.join('\n'))
      assert.match(report.problems[0] ?? '', says)
      assert.equal(await scene.isStrict(), false)
      writeFileSync(scene.secret, NEXT)
      writeFileSync(scene.set, SET)
      assert.deepEqual((await scene.cardea.reload()).problems, [])
      assert.deepEqual([await scene.isStrict(), await scene.isSigning(NEXT)], [true, true])
    })
  }

  it('accepts a secret that changes its use in the same reload', async (t) => {
    const { cardea, secret, write, isSigning } = await open(t, '[upstream]\ndocument-secret = was-for-the-upstream\n')
    writeFileSync(secret, 'was-for-the-upstream')
    assert.equal((await cardea.reload()).isApplied, false)
    write('[upstream]\ndocument-secret = something-else-now\n')
    await cardea.reload()
    assert.equal(await isSigning('was-for-the-upstream'), true)
  })

  it('reports an unusable key each time', async (t) => {
    const { cardea, lines, write } = await open(t)
    const named = () =>
      lines.filter(
        ([message, fields]) => /a key for tokens cannot be used/.test(message) && /"rsa:x".*a\.ini:2"/.test(fields),
      )
    assert.equal(named().length, 0)
    write('[jwt_keys]\nrsa:x = no key\n')
    for (const times of [1, 2]) {
      assert.equal((await cardea.reload()).isApplied, true)
      assert.equal(named().length, times)
    }
  })
  it('warns of a short secret once, and again of another one', async (t) => {
    const { cardea, lines, secret } = await open(t)
    const warned = () => lines.filter(([message]) => message.includes('can be guessed from a token')).length
    const counts: number[] = []
    for (const text of [FIRST, 'short', 'short', 'shorter', 'shorter', FIRST, 'short']) {
      writeFileSync(secret, text)
      await cardea.reload()
      counts.push(warned())
    }
    assert.deepEqual(counts, [0, 1, 1, 2, 2, 2, 3])
  })
})
