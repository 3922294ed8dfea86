import assert from 'node:assert/strict'
import { createHash, pbkdf2Sync } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ADMIN_PASSWORD, type Managed, makeManaged } from '../../support/managed.ts'
import { BUNDLED, signsIn, start, stop } from '../../support/process.ts'
import type { Scope } from '../../support/scope.ts'

const derive = (password: string) => pbkdf2Sync(password, 'salt', 10, 32, 'sha256').toString('hex')

const toDocument = (name: string, more: object = {}) => ({
  _id: `org.couchdb.user:${name}`,
  _rev: `4-${'a'.repeat(32)}`,
  password_scheme: 'pbkdf2',
  pbkdf2_prf: 'sha256',
  salt: 'salt',
  iterations: 10,
  derived_key: derive(`password of ${name}`),
  name,
  type: 'user',
  roles: ['reader'],
  ...more,
})

/** As `_all_docs?include_docs=true` answers. */
const LISTING = `{"total_rows":4,"offset":0,"rows":[\r\n${[
  { id: '_design/_auth', key: '_design/_auth', value: {}, doc: { _id: '_design/_auth' } },
  ...[toDocument('ann', { colour: 'red' }), toDocument('bob'), toDocument('eve', { roles: ['_admin'] })].map((doc) => ({
    id: doc._id,
    key: doc._id,
    value: {},
    doc,
  })),
]
  .map((row) => JSON.stringify(row))
  .join(',\r\n')}\r\n]}\n`

const ADMINS = `[admins]\nroot = -pbkdf2:sha256-${derive('password of root')},salt,10\nbad = -pbkdf2-x\n`

const SALTED = createHash('sha256').update('s4ltpassword of max').digest('hex')
const MULTI_MODEL = `${JSON.stringify({
  type: 2300,
  data: {
    user: 'max',
    authData: { active: true, simple: { method: 'sha256', salt: 's4lt', hash: SALTED } },
    databases: { shop: { permissions: { read: true, write: true } } },
  },
})}\n`

interface Place {
  readonly managed: Managed
  write(name: string, content: string | Uint8Array): string
  read(name: string): string
}

function makePlace(scope: Scope): Place {
  const managed = makeManaged(scope)
  const pathOf = (name: string) => join(managed.folder, name)
  return {
    managed,
    write(name, content) {
      writeFileSync(pathOf(name), content)
      return name
    },
    read: (name) => readFileSync(pathOf(name), 'utf8'),
  }
}

const CSV = [
  'name;password;roles;grants;active',
  'ida;a-first-password;editor, shop manager;shop:rw;',
  '"max ""m""";;;;false',
  'odd;;;shop:read;',
  'ida;;;;',
  '',
].join('\r\n')

it('a list as CSV is imported, and every wrong line is refused with its number', async (t) => {
  const { managed, write } = makePlace(t)
  const cardea = async (...args: string[]) => {
    const { code, stdout, stderr } = await managed.cardea(args)
    return { code, text: stdout + stderr }
  }
  write('users.csv', CSV)
  const replaced = await cardea('import', 'users.csv', '--from', 'csv', '--replace')
  assert.match(replaced.text, /A list does not hold whole users/)
  assert.equal(replaced.code, 2)
  const { code, text } = await cardea('import', 'users.csv', '--from', 'csv')
  assert.equal(code, 1)
  assert.match(text, /^refused: line 4, odd: grants must be databases .* Did you mean shop:ro\?$/m)
  assert.match(text, /^refused: line 5, ida: the name ida is in line 2 too\. Remove one of them\.$/m)
  assert.match(text, /^Users: 2 created, 0 replaced, 0 kept, 2 refused\.\nFormat csv, /m)
  const ida = JSON.parse((await cardea('user', 'show', 'ida', '--json')).text)
  assert.deepEqual([ida.roles, ida.mustChangePassword], [['editor', 'shop manager'], true])
  write('odd.csv', 'nme,roles\nida,x\n')
  const odd = await cardea('import', 'odd.csv', '--from', 'csv')
  assert.match(odd.text, /^refused: line 1: the column nme is unknown\. Did you mean name\?$/m)
  assert.match(odd.text, /^refused: line 1: the column name is missing\.$/m)
})

const MODES: readonly [mode: string, isServed: boolean][] = [
  ['a stopped store', false],
  ['a running server', true],
]

for (const [mode, isServed] of MODES) {
  it(`users move in and out of ${mode}`, async (t) => {
    const { managed, write, read } = makePlace(t)
    const server = isServed ? await managed.serve() : undefined
    const cardea = async (...args: string[]) => {
      const { code, stdout, stderr } = await managed.cardea(args)
      return { code, text: stdout + stderr }
    }
    write('users.json', LISTING)
    write('admins.ini', ADMINS)

    const tried = await cardea('import', 'users.json', '--from', 'document', '--admins', 'admins.ini', '--dry-run')
    assert.match(tried.text, /Users: 2 created, 0 replaced, 0 kept, 1 refused\.\nAdministrators: 1 created/)
    assert.match(tried.text, /nothing was written/)
    assert.doesNotMatch((await cardea('user', 'list', '--json')).text, /^\{/m)

    const first = await cardea('import', 'users.json', '--from', 'document', '--admins', 'admins.ini')
    assert.equal(first.code, 1)
    assert.match(first.text, /^refused: line 5, org\.couchdb\.user:eve: A role must not begin with an underscore\.$/m)
    assert.match(first.text, /^refused: line 3, bad: /m)
    // each record is counted once, under the heading of its kind
    assert.match(first.text, /^Users: 2 created, 0 replaced, 0 kept, 1 refused\.$/m)
    assert.match(first.text, /^Administrators: 1 created, 0 replaced, 0 kept, 1 refused\.$/m)
    assert.match(first.text, /^Skipped 1 record that is not a user\.\nFormat document, /m)

    assert.equal((await cardea('export', 'first.ndjson')).code, 0)
    for (const onTaken of ['--keep', '--replace']) {
      const again = await cardea('import', 'users.json', '--from', 'document', '--admins', 'admins.ini', onTaken)
      assert.match(again.text, /^Users: 0 created, 0 replaced, 2 kept, 1 refused\.$/m, onTaken)
      assert.match(again.text, /^Administrators: 0 created, 0 replaced, 1 kept, 1 refused\.$/m, onTaken)
    }
    assert.equal((await cardea('export', 'second.ndjson')).code, 0)
    assert.equal(read('second.ndjson'), read('first.ndjson'))

    write('max.data.json.gz', gzipSync(MULTI_MODEL))
    const json = await managed.cardea(['import', 'max.data.json.gz', '--from', 'multi-model', '--json'])
    const { users, format, messages } = JSON.parse(json.stdout)
    assert.deepEqual([users.created, format, messages], [1, 'multi-model', []])

    await cardea('export', '--to', 'document', 'out.json', '--admins', 'out.ini')
    const { docs } = JSON.parse(read('out.json'))
    const { _rev, ...ann } = toDocument('ann', { colour: 'red' })
    assert.deepEqual(docs[0], ann)
    assert.equal(docs[2].derived_key, undefined)
    assert.match(read('out.ini'), /^root = -pbkdf2:sha256-/m)
    assert.match(
      (await cardea('export', '--to', 'multi-model', 'out.data.json')).text,
      /^note: ann: The password cannot/m,
    )
    assert.equal(JSON.parse(read('out.data.json').split('\n')[2] ?? '').authData.simple.hash, SALTED)

    if (server) {
      for (const name of ['ann', 'bob', 'max', 'root']) {
        assert.ok(await signsIn(server.document, [name, `password of ${name}`]), name)
      }
      await stop(server)
    }
  })
}

describe('an import', () => {
  it('of an own export into an empty Cardea loses nothing', async (t) => {
    const from = makePlace(t)
    from.write('users.json', LISTING)
    await from.managed.cardea(['import', 'users.json', '--from', 'document'])
    await from.managed.cardea(['import', '-', '--from', 'multi-model'], MULTI_MODEL)
    await from.managed.cardea(['user', 'disable', 'bob'])
    const { stdout } = await from.managed.cardea(['export'])
    const to = makePlace(t)
    const { code } = await to.managed.cardea(['import', '-', '--replace'], stdout)
    assert.equal(code, 0)
    assert.equal((await to.managed.cardea(['export'])).stdout, stdout)
  })

  it('reads users and administrators from a CouchDB by its URL', async (t) => {
    const from = makePlace(t)
    from.write('users.json', LISTING)
    from.write('admins.ini', ADMINS)
    await from.managed.cardea(['import', 'users.json', '--from', 'document', '--admins', 'admins.ini'])
    const server = await from.managed.serve()
    const to = makePlace(t)
    to.write('pair', `admin:${ADMIN_PASSWORD}\n`)
    to.write('wrong', 'admin:wrong\n')
    const args = ['import', server.document, '--admins', server.document]
    const refused = await to.managed.cardea([...args, '--source-credentials', 'wrong'])
    assert.deepEqual([refused.code, /rejects this name and password/.test(refused.stderr)], [1, true])
    const unasked = await to.managed.cardea(args)
    assert.deepEqual([unasked.code, /--source-credentials/.test(unasked.stderr)], [2, true])
    const { code, stdout } = await to.managed.cardea([...args, '--source-credentials', 'pair'])
    assert.match(stdout, /^Users: 2 created/m)
    assert.match(stdout, /^Administrators: 1 created, 0 replaced, 1 kept/m)
    assert.equal(code, 0)
    assert.equal(
      to.managed.traces.some((trace) => trace.includes(ADMIN_PASSWORD)),
      false,
    )
    await stop(server)
  })

  it('imports plain-text passwords and prints none of them', async (t) => {
    const { managed, write } = makePlace(t)
    write('clear.json', JSON.stringify([{ ...toDocument('ann'), password: 'the-clear-password' }]))
    assert.equal((await managed.cardea(['import', 'clear.json', '--from', 'document'])).code, 0)
    const server = await managed.serve()
    assert.ok(await signsIn(server.document, ['ann', 'the-clear-password']))
    await stop(server)
    assert.equal(
      managed.traces.some((trace) => trace.includes('the-clear-password')),
      false,
    )
  })

  it('that is interrupted keeps what was imported and reports how far it came', async (t) => {
    const { managed, write } = makePlace(t)
    const lines = [JSON.stringify(toDocument('ann')), 'broken', ' '.repeat(5000), '']
    write('users.ndjson', lines.join('\n'))
    // a source that is never over
    const script = 'mkfifo pipe; (cat users.ndjson; exec tail -f /dev/null) > pipe & exec "$@" < pipe'
    const args = [process.execPath, BUNDLED, 'import', '-', '--from', 'document', '--config', managed.folder]
    const importing = start(t, args, { command: ['/bin/sh', '-c', script, 'sh'], cwd: managed.folder })
    await importing.says(/refused: line 2/)
    importing.child.kill('SIGINT')
    await importing.says(/Not everything was imported/)
    assert.match(importing.stdout(), /^Users: 1 created.*Stopped before the end/ms)
    assert.match((await managed.cardea(['user', 'list'])).stdout, /^ann /m)
  })

  const WRONG: readonly [row: string, args: readonly string[], code: number, says: RegExp][] = [
    ['no file', ['nothing.json'], 1, /There is no file/],
    ['a folder', ['.'], 1, /folder/],
    ['a dump of another format', ['users.json'], 1, /--from document or --from multi-model/],
    ['an empty file', ['empty.json'], 1, /incomplete/],
    ['a damaged archive', ['damaged.gz', '--from', 'document'], 1, /cannot be read/],
    ['--keep and --replace together', ['users.json', '--keep', '--replace'], 2, /cannot be used with/],
    ['an unknown format', ['users.json', '--from', 'ldap'], 2, /choices/],
    ['a password in a URL', ['http://ann:the-secret@127.0.0.1:1'], 2, /--source-credentials/],
    ['another format by its URL', ['http://127.0.0.1:1', '--from', 'cardea'], 2, /Only CouchDB is read from a URL/],
    ['a missing file of administrators', ['users.json', '--admins', 'nothing.ini'], 1, /cannot be read/],
  ]
  it('reports invalid usage', async (t) => {
    const { managed, write } = makePlace(t)
    write('users.json', LISTING)
    write('empty.json', '')
    write('damaged.gz', gzipSync(LISTING).subarray(0, 60))
    for (const [row, args, code, says] of WRONG) {
      const ended = await managed.cardea(['import', ...args])
      const text = ended.stdout + ended.stderr
      assert.deepEqual([ended.code, says.test(text)], [code, true], `${row}: ${text}`)
      assert.equal(/the-secret/.test(text), false)
    }
  })
})

describe('an export', () => {
  it('is readable by its owner alone, and replaces a file as a whole', async (t) => {
    const { managed, write, read } = makePlace(t)
    write('users.json', LISTING)
    await managed.cardea(['import', 'users.json', '--from', 'document'])
    write('out.ndjson', 'x'.repeat(10_000))
    const before = readdirSync(managed.folder)
    assert.equal((await managed.cardea(['export', 'out.ndjson'])).code, 0)
    assert.equal(statSync(join(managed.folder, 'out.ndjson')).mode & 0o777, 0o600)
    assert.match(read('out.ndjson'), /^\{"cardea":"directory","version":1\}\n.*\n\{"end":"directory"\}\n$/s)
    assert.deepEqual(readdirSync(managed.folder), before)
  })

  it('reports invalid usage', async (t) => {
    const { managed } = makePlace(t)
    const rows: readonly [args: readonly string[], code: number, says: RegExp][] = [
      [['nowhere/out.ndjson'], 1, /cannot be written/],
      [['--json'], 2, /give a file for the users/],
      [['out.ndjson', '--admins', 'out.ini'], 2, /--to document/],
      [['--to', 'ldap'], 2, /choices/],
    ]
    for (const [args, code, says] of rows) {
      const ended = await managed.cardea(['export', ...args])
      assert.deepEqual([ended.code, says.test(ended.stderr)], [code, true], `${args}: ${ended.stderr}`)
    }
  })
})

describe('run-time settings', () => {
  for (const [mode, isServed] of MODES) {
    it(`move with the users from and to ${mode}`, async (t) => {
      const [from, to] = [makePlace(t), makePlace(t)]
      const servers = isServed ? [await from.managed.serve(), await to.managed.serve()] : []
      const set = (place: Place, name: string, value: string) =>
        place.managed.cardea(['config', 'set', name, '--value-stdin'], value)
      await set(from, 'chttpd_auth.timeout', '77')
      await set(from, 'jwt_keys.hmac:a', 'YS1zZWNyZXQtb2YtdG9rZW5z')
      await set(to, 'chttpd_auth.timeout', '88')
      const file = join(from.managed.folder, 'all.json')
      const exported = await from.managed.cardea(['export', file])
      // and the uuid, which the first start created
      assert.equal(exported.stdout, 'Exported 0 users.\nExported 3 run-time settings.\n')
      assert.match(from.read('all.json'), /^\{"setting":\{"section":"jwt_keys","key":"hmac:a","text":"YS1z\w+"\}\}$/m)

      const trial = await to.managed.cardea(['import', file, '--dry-run'])
      assert.match(trial.stdout, /^Settings: 1 created, 0 replaced, 2 kept, 0 refused\.$/m)
      assert.equal((await to.managed.cardea(['config', 'get', 'jwt_keys.hmac:a'])).code, 3)
      const kept = await to.managed.cardea(['import', file])
      assert.deepEqual(
        [kept.code, /^Settings: 1 created, 0 replaced, 2 kept/m.test(kept.stdout)],
        [0, true],
        kept.stdout,
      )
      assert.equal((await to.managed.cardea(['config', 'get', 'chttpd_auth.timeout'])).stdout, '88\n')
      const replaced = await to.managed.cardea(['import', file, '--replace'])
      assert.match(replaced.stdout, /^Settings: 0 created, 2 replaced, 1 kept, 0 refused\.$/m)
      assert.equal((await to.managed.cardea(['config', 'get', 'chttpd_auth.timeout'])).stdout, '77\n')
      for (const server of servers) await stop(server)
    })
  }

  it('that are invalid or cannot be set at run time are refused', async (t) => {
    const { managed, write } = makePlace(t)
    const settings = [
      { section: 'chttpd_auth', key: 'timeout', text: 'x' },
      { section: 'store', key: 'url', text: 'sqlite:elsewhere.db' },
      { section: 'cors', key: 'max_age', text: '5' },
      { section: 'cors', key: 'max_age', text: 5 },
    ]
    const lines = [
      { cardea: 'directory', version: 1 },
      ...settings.map((setting) => ({ setting })),
      { administrator: { name: 'a:b', stored: 'x' } },
      { end: 'directory' },
    ]
    write('some.json', lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const { code, stdout } = await managed.cardea(['import', 'some.json'])
    assert.equal(code, 1)
    assert.match(stdout, /^refused: line 2, chttpd_auth\.timeout: .*expected a whole number/m)
    assert.match(stdout, /^refused: line 3, store\.url: .*cannot be changed at run time/m)
    assert.match(stdout, /^Settings: 1 created, 0 replaced, 0 kept, 3 refused\.$/m)
    assert.match(stdout, /^Users: 0 created, 0 replaced, 0 kept, 0 refused\.\nAdministrators: .* 1 refused\.$/m)
  })

  it('that are secret are not sent to another machine', async (t) => {
    const { managed, write, read } = makePlace(t)
    const server = await managed.serve()
    await managed.cardea(['config', 'set', 'jwt_keys.hmac:a', '--value-stdin'], 'YS1zZWNyZXQtb2YtdG9rZW5z')
    write('credentials', `admin:${ADMIN_PASSWORD}`)
    const remote = ['--url', server.document, '--credentials', 'credentials']
    const { stdout } = await managed.cardea(['export', 'remote.json', ...remote])
    assert.match(stdout, /^note: jwt_keys\.hmac:a: A secret setting is exported only on the machine/m)
    assert.doesNotMatch(read('remote.json'), /jwt_keys|YS1z/)
    await stop(server)
  })
})
