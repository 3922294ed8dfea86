import assert from 'node:assert/strict'
import { createHash, pbkdf2Sync } from 'node:crypto'
import { chmodSync, closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startShared } from '../support/hosted-server.ts'
import { FREE_PORTS, get, IN_MEMORY, type Started, signsIn, start, stop } from '../support/process.ts'
import { makeFolder, type Scope } from '../support/scope.ts'

const derive = (digest: string, bytes: number) => pbkdf2Sync('pw', 'salt', 10, bytes, digest).toString('hex')

/** Every stored form, for the password `pw`. */
const FORMS: readonly [name: string, text: string][] = [
  ['hashed', `-hashed-${createHash('sha1').update('pwsalt').digest('hex')},salt`],
  ['sha1-by-length', `-pbkdf2-${derive('sha1', 20)},salt,10`],
  ['sha224-by-length', `-pbkdf2-${derive('sha224', 28)},salt,10`],
  ['sha256-by-length', `-pbkdf2-${derive('sha256', 32)},salt,10`],
  ['sha384-by-length', `-pbkdf2-${derive('sha384', 48)},salt,10`],
  ['sha512-by-length', `-pbkdf2-${derive('sha512', 64)},salt,10`],
  ['sha1-by-name', `-pbkdf2:sha-${derive('sha1', 20)},salt,10`],
  ['sha256-by-name', `-pbkdf2:sha256-${derive('sha256', 32)},salt,10`],
  ['sha512-by-name', `-pbkdf2:sha512-${derive('sha512', 64)},salt,10`],
  ['clear', 'pw'],
]

/** Invalid entries: no sign-in with them, but the others work. */
const MALFORMED: readonly [name: string, text: string][] = [
  ['no-iterations', `-pbkdf2-${derive('sha256', 32)},salt`],
  ['zero-iterations', `-pbkdf2-${derive('sha256', 32)},salt,0`],
  ['no-salt', '-hashed-0123456789'],
  ['odd-length', '-pbkdf2-abc,salt,10'],
  ['upper-case', `-pbkdf2-${derive('sha256', 32).toUpperCase()},salt,10`],
]

const write = (path: string, entries: readonly [string, string][]) =>
  writeFileSync(path, `[admins]\n${entries.map((entry) => entry.join(' = ')).join('\n')}\n`, { mode: 0o600 })

const serve = (t: Parameters<typeof start>[0], path: string, ...flags: string[]): Started =>
  startShared(t, ['serve', '--config', path, ...IN_MEMORY, ...flags])

it('every stored form signs in; a malformed entry is reported and rejected, and the others work', async (t) => {
  const path = join(makeFolder(t), 'a.ini')
  write(path, [...MALFORMED, ...FORMS])
  const cardea = serve(t, path)
  const { document } = await cardea.doors()
  for (const [name] of FORMS) {
    assert.ok(await signsIn(document, [name, 'pw']), name)
    assert.ok(!(await signsIn(document, [name, 'wrong'])), name)
  }
  for (const [name, text] of MALFORMED) {
    assert.match(cardea.stderr(), new RegExp(`"name":"${name}".*"msg":"administrator refused"`))
    assert.ok(!(await signsIn(document, [name, 'pw'])), name)
    assert.ok(!(await signsIn(document, [name, text])), `its text is no password (${name})`)
  }
  assert.doesNotMatch(cardea.stderr(), new RegExp(derive('sha256', 32), 'i'), 'no hash in the log')
  await stop(cardea)
})

describe('plain text in a file', () => {
  const TEXT = '; ours\r\n[chttpd]\r\n\r\n[admins] \r\n; who\r\nada =  se cret ; the first\r\n\tbob\t=\tx\r\n'

  it('is hashed at start and written back; every other byte stays the same', async (t) => {
    const path = join(makeFolder(t), 'a.ini')
    writeFileSync(path, TEXT, { mode: 0o640 })
    const cardea = serve(t, path)
    const { document } = await cardea.doors()
    assert.ok(await signsIn(document, ['ada', 'se cret']))
    const after = readFileSync(path, 'utf8')
    const stored = /ada = {2}(-pbkdf2-[0-9a-f]{64},[0-9a-f]+,1) ; the first\r/.exec(after)?.[1] ?? ''
    assert.ok(stored, after)
    const bob = /\tbob\t=\t(-pbkdf2-\S+)\r/.exec(after)?.[1] ?? ''
    assert.equal(after.replace(stored, 'se cret').replace(bob, 'x'), TEXT)
    assert.equal(statSync(path).mode & 0o777, 0o640)
    await stop(cardea)

    const again = serve(t, path)
    assert.ok(await signsIn((await again.doors()).document, ['ada', 'se cret']))
    assert.equal(readFileSync(path, 'utf8'), after)
    await stop(again)
  })

  const READABLE: readonly (readonly [row: string, text: string, mode: number, warns: boolean])[] = [
    ['that others can read causes a warning, although it is hashed now', TEXT, 0o644, true],
    ['that the group can read causes no warning once it is hashed', TEXT, 0o640, false],
    ['that others can read and that stays causes a warning', `${TEXT}[chttpd_auth]\nsecret = hush\n`, 0o644, true],
    ['that only the owner can read causes no warning', `${TEXT}[chttpd_auth]\nsecret = hush\n`, 0o600, false],
  ]
  for (const [row, text, mode, warns] of READABLE) {
    it(row, async (t) => {
      const path = join(makeFolder(t), 'a.ini')
      writeFileSync(path, text)
      chmodSync(path, mode)
      const cardea = serve(t, path)
      await cardea.doors()
      assert.equal(/this file is readable by others.*chmod 600/.test(cardea.stderr()), warns, cardea.stderr())
      await stop(cardea)
    })
  }

  /** A file that has lost its name: it can be read through the descriptor, and not be replaced. */
  function openReadOnly(t: Scope, folder: string, text: string): number {
    const path = join(folder, 'gone.ini')
    writeFileSync(path, text, { mode: 0o600 })
    const file = openSync(path, 'r')
    t.after(() => closeSync(file))
    rmSync(path)
    return file
  }

  const onStore = (folder: string) => [
    ...['serve', '--config', '/dev/fd/3', ...FREE_PORTS, '--chttpd_auth.iterations', '1'],
    ...['--store.url', `sqlite:${join(folder, 'store.db')}`],
  ]

  it('that cannot be rewritten causes a warning, works, and keeps its hash at the next start', async (t) => {
    const folder = makeFolder(t)
    const file = openReadOnly(t, folder, '[admins]\nada = secret\n')
    const hashes: string[] = []
    for (const round of ['first', 'second']) {
      const cardea = start(t, onStore(folder), { file })
      const { document } = await cardea.doors()
      assert.match(cardea.stderr(), /"name":"ada".*"msg":"password of an administrator stays in clear text/, round)
      assert.ok(await signsIn(document, ['ada', 'secret']), round)
      hashes.push(await readHash(document))
      await stop(cardea)
    }
    assert.equal(hashes[0], hashes[1])
  })

  it('that cannot be rewritten does not undo a change at run time; another text does', async (t) => {
    const folder = makeFolder(t)
    const file = openReadOnly(t, folder, '[admins]\nada = secret\nbob = secret\neve = secret\n')
    const first = start(t, onStore(folder), { file })
    const { document } = await first.doors()
    await putAdmin(document, ['eve', 'secret'], 'PUT', 'ada', 'changed')
    await putAdmin(document, ['eve', 'secret'], 'DELETE', 'bob')
    await assertInForce(document, 'before')
    first.child.kill('SIGHUP')
    await first.says(/"msg":"configuration applied"/)
    await assertInForce(document, 'after a reload')
    await stop(first)

    const second = start(t, onStore(folder), { file })
    await assertInForce((await second.doors()).document, 'after a start')
    assert.match(second.stderr(), /"name":"bob".*"msg":"password of an administrator in a file is ignored/)
    assert.doesNotMatch(second.stderr(), /"name":"eve".*"msg":"password of an administrator in a file is ignored/)
    await stop(second)

    const other = openReadOnly(t, folder, '[admins]\nada = another\nbob = another\neve = secret\n')
    const third = start(t, onStore(folder), { file: other })
    const doors = await third.doors()
    for (const name of ['ada', 'bob']) assert.ok(await signsIn(doors.document, [name, 'another']), name)
    await stop(third)
  })

  it('that is restored unchanged, as in a container, does not undo a change at run time', async (t) => {
    const path = join(makeFolder(t), 'a.ini')
    const flags = [...FREE_PORTS, '--store.url', `sqlite:${path}.db`, '--chttpd_auth.iterations', '1']
    for (const round of ['first', 'second']) {
      write(path, [
        ['ada', 'secret'],
        ['eve', 'secret'],
      ])
      const cardea = startShared(t, ['serve', '--config', path, ...flags])
      const { document } = await cardea.doors()
      if (round === 'first') await putAdmin(document, ['eve', 'secret'], 'PUT', 'ada', 'changed')
      assert.ok(await signsIn(document, ['ada', 'changed']), round)
      assert.ok(!(await signsIn(document, ['ada', 'secret'])), round)
      assert.doesNotMatch(readFileSync(path, 'utf8'), /secret/)
      const { body } = await get(`${document}/_node/_local/_config`, ['eve', 'secret'])
      assert.deepEqual(
        Object.keys(JSON.parse(body)).filter((section) => section.includes('[')),
        [],
      )
      const hidden = `${document}/_node/_local/_config/${encodeURIComponent('[admins]')}`
      assert.ok((await get(`${hidden}/ada`, ['eve', 'secret'])).status >= 400)
      assert.equal((await send(hidden, 'PUT', ['eve', 'secret'], 'x')).status, 400)
      await stop(cardea)
    }
  })

  async function assertInForce(document: string, when: string): Promise<void> {
    assert.ok(await signsIn(document, ['ada', 'changed']), `changed, ${when}`)
    assert.ok(!(await signsIn(document, ['ada', 'secret'])), `the old one, ${when}`)
    assert.ok(!(await signsIn(document, ['bob', 'secret'])), `deleted, ${when}`)
    assert.ok(await signsIn(document, ['eve', 'secret']), `left alone, ${when}`)
  }

  async function putAdmin(document: string, by: readonly [string, string], method: string, name: string, to?: string) {
    const { status } = await send(`${document}/_node/_local/_config/admins`, method, by, to, name)
    assert.equal(status, 200, `${method} ${name}`)
  }

  async function send(section: string, method: string, by: readonly [string, string], to?: string, key = 'ada') {
    const headers = { authorization: `Basic ${Buffer.from(by.join(':')).toString('base64')}` }
    const body = to === undefined ? null : JSON.stringify(to)
    return fetch(`${section}/${key}`, { method, headers, body })
  }

  async function readHash(document: string): Promise<string> {
    const headers = { authorization: `Basic ${Buffer.from('ada:secret').toString('base64')}` }
    const response = await fetch(`${document}/_node/_local/_config/admins/ada`, { headers })
    assert.equal(response.status, 200)
    return response.text()
  }
})

it('the last [admins] section applies, over several files', async (t) => {
  const folder = makeFolder(t)
  write(join(folder, '1.ini'), [['first', 'pw']])
  write(join(folder, '2.ini'), [['second', 'pw']])
  writeFileSync(join(folder, '3.ini'), '[chttpd]\n[admins]\nearly = pw\n[admins]\nthird = pw\n', { mode: 0o600 })
  const cardea = serve(t, folder)
  const { document } = await cardea.doors()
  for (const [name, isThere] of [
    ['first', false],
    ['second', false],
    ['early', false],
    ['third', true],
  ] as const) {
    assert.equal(await signsIn(document, [name, 'pw']), isThere, name)
  }
  assert.match(cardea.stderr(), /is ignored.*3\.ini:4 \(\S*1\.ini:1\)/)
  for (const file of ['1.ini', '2.ini', '3.ini']) {
    assert.doesNotMatch(readFileSync(join(folder, file), 'utf8'), /= pw/, 'no line keeps its clear text')
  }
  await stop(cardea)
})

const GIVEN: readonly [row: string, give: (password: string) => { flags: string[]; env: Record<string, string> }][] = [
  ['a flag', (password) => ({ flags: ['--admins.ada', password], env: {} })],
  ['the environment', (password) => ({ flags: [], env: { CARDEA_ADMINS__ada: password } })],
]

for (const [row, give] of GIVEN) {
  it(`the current password of ${row} signs in, also where a file has another`, async (t) => {
    const folder = makeFolder(t)
    const path = join(folder, 'a.ini')
    const store = ['--store.url', `sqlite:${join(folder, 'store.db')}`, '--chttpd_auth.iterations', '1']
    write(path, [['fileadmin', 'file']])
    for (const [password, other] of [
      ['one', 'two'],
      ['two', 'one'],
    ] as const) {
      const { flags, env } = give(password)
      const args = ['serve', '--config', path, ...FREE_PORTS, ...store, ...flags]
      const cardea = startShared(t, args, { env: { ...env, CARDEA_ADMINS__fileadmin: 'env' } })
      const { document } = await cardea.doors()
      assert.ok(await signsIn(document, ['ada', password]), `given ${password}`)
      assert.ok(!(await signsIn(document, ['ada', other])), `given ${password}`)
      assert.ok(await signsIn(document, ['fileadmin', 'env']), 'of the environment')
      assert.ok(!(await signsIn(document, ['fileadmin', 'file'])), 'of the file')
      assert.doesNotMatch(readFileSync(path, 'utf8'), /= file/, 'the overruled line is hashed')
      assert.doesNotMatch(cardea.stderr(), /"name":"ada".*stays in clear text/)
      await stop(cardea)
    }
    const cardea = startShared(t, ['serve', '--config', path, ...FREE_PORTS, ...store])
    const { document } = await cardea.doors()
    for (const password of ['one', 'two'])
      assert.ok(!(await signsIn(document, ['ada', password])), 'not given any more')
    assert.ok(await signsIn(document, ['fileadmin', 'file']), 'of the file again')
    await stop(cardea)
  })
}
