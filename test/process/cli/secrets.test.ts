// `cardea secret` and `cardea token`, as processes: what they print, how they end, and that a server believes them.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type Managed, makeManaged } from '../../support/managed.ts'
import { stop } from '../../support/process.ts'
import { createAsk } from '../../support/request.ts'

const CONFIG = `[store]
url = sqlite:cardea.db
[chttpd]
port = 0
[server]
endpoint = tcp://127.0.0.1:0
jwt-secret-folder = tokens
[chttpd_auth]
iterations = 1
secret = a-secret-of-cookies
[admins]
admin = adminpw
`
const SECRET = 'the first secret, which is long enough'

function makeWithSecrets(t: TestContext, config = CONFIG): Managed {
  const managed = makeManaged(t, config)
  mkdirSync(join(managed.folder, 'tokens'))
  writeFileSync(join(managed.folder, 'tokens', '1.key'), SECRET)
  return managed
}

const listSecrets = ({ folder }: Managed) => readdirSync(join(folder, 'tokens'))

describe('cardea secret create', () => {
  it('writes a private file and prints its hash, never its content', async (t) => {
    const managed = makeWithSecrets(t)
    const { code, stdout } = await managed.cardea(['secret', 'create', 'new.key'])
    const path = join(managed.folder, 'new.key')
    const text = readFileSync(path, 'utf8')
    assert.equal(code, 0)
    assert.match(text, /^[0-9a-f]{64}$/)
    assert.match(stdout, /^Made new\.key \(HS256\), sha256 [0-9a-f]{64}\.\n$/)
    assert.equal(stdout.includes(text), false)
    assert.equal(statSync(path).mode & 0o777, 0o600)
  })
  it('overwrites nothing', async (t) => {
    const managed = makeWithSecrets(t)
    const { code, stderr } = await managed.cardea(['secret', 'create', join('tokens', '1.key')])
    assert.deepEqual([code, /is there already/.test(stderr)], [7, true])
    assert.equal(readFileSync(join(managed.folder, 'tokens', '1.key'), 'utf8'), SECRET)
  })
  it('rejects invalid lengths', async (t) => {
    const managed = makeWithSecrets(t)
    for (const length of ['0', '15', '33', 'x']) {
      assert.equal((await managed.cardea(['secret', 'create', 'x', '--length', length])).code, 2, length)
    }
  })
  it('a key for ES256', async (t) => {
    const managed = makeWithSecrets(t)
    const { code, stdout } = await managed.cardea(['secret', 'create', 'key.pem', '--ec', '--json'])
    assert.deepEqual([code, JSON.parse(stdout).kind], [0, 'ES256'])
    assert.match(readFileSync(join(managed.folder, 'key.pem'), 'utf8'), /^-----BEGIN PRIVATE KEY-----/)
  })
})

describe('cardea secret list', () => {
  it('prints names, use, kind and hash', async (t) => {
    const managed = makeWithSecrets(t)
    writeFileSync(join(managed.folder, 'tokens', '2.key'), 'another one')
    writeFileSync(join(managed.folder, 'tokens', '3.key'), '')
    const { stdout } = await managed.cardea(['secret', 'list', '--json'])
    const listed = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const rows = listed.map(({ name, use, kind }) => [name, use, kind])
    assert.deepEqual(rows, [
      ['1.key', 'active', 'HS256'],
      ['2.key', 'passive', 'HS256'],
      ['3.key', 'unused', undefined],
    ])
    assert.match((await managed.cardea(['secret', 'list'])).stdout, /^NAME +USE +KIND +SHA256\n1\.key +active +HS256 /)
  })
  it('none', async (t) => {
    const managed = makeWithSecrets(t, CONFIG.replace('jwt-secret-folder = tokens\n', ''))
    assert.match((await managed.cardea(['secret', 'list'])).stdout, /^None is configured/)
  })
  it('a folder that cannot be read', async (t) => {
    const managed = makeWithSecrets(t, CONFIG.replace('= tokens', '= nowhere'))
    const { code, stderr } = await managed.cardea(['secret', 'list'])
    assert.deepEqual(
      [code, /the folder of secrets '.*nowhere' cannot be read: no such file or directory/.test(stderr)],
      [1, true],
    )
  })
})

describe('cardea secret rotate', () => {
  it('step by step, with a server that reloads', async (t) => {
    const managed = makeWithSecrets(t)
    const server = await managed.serve()
    const ask = createAsk(server.multiModel)
    const makeHeader = async () => {
      const { stdout } = await managed.cardea(['token', 'header', '--superuser'])
      return stdout.trim().replace('Authorization: ', '')
    }
    const rotate = (...args: string[]) => managed.cardea(['secret', 'rotate', '--reload', server.multiModel, ...args])
    const status = async (auth: string) => (await ask('GET', '/_api/version', { as: auth })).status

    const old = await makeHeader()
    assert.match((await rotate()).stdout, /^1 of 3: added 1\.key\.next\./)
    assert.deepEqual(listSecrets(managed), ['.rotation.json', '1.key', '1.key.next'])
    assert.equal(await makeHeader().then(status), 200)

    assert.match((await rotate()).stdout, /^2 of 3: 0\d{10}\.key is the first now\./)
    const fresh = await makeHeader()
    assert.deepEqual([await status(old), await status(fresh)], [200, 200])

    const waiting = await rotate()
    assert.match(waiting.stdout, /^Nothing was changed: tokens signed with 1\.key may live until 20/)
    assert.equal(waiting.code, 0)
    assert.match((await rotate('--json')).stdout, /"until": "20\d\d-\d\d-\d\dT[\d:]+Z"/)

    assert.match((await rotate('--force')).stdout, /^3 of 3: removed 1\.key\./)
    assert.deepEqual([await status(old), await status(fresh)], [401, 200])
    const [only, ...others] = listSecrets(managed)
    assert.deepEqual([/^0\d{10}\.key$/.test(only ?? ''), others], [true, []])

    assert.match((await rotate()).stdout, /^1 of 3/)
    assert.match((await rotate()).stdout, /^2 of 3/)
    assert.match((await rotate('--force')).stdout, /^3 of 3/)
    assert.equal(await status(fresh), 401)
    assert.equal(await makeHeader().then(status), 200)
    await stop(server)
    const secrets = listSecrets(managed).map((name) => readFileSync(join(managed.folder, 'tokens', name), 'utf8'))
    for (const secret of [...secrets, SECRET]) {
      assert.equal(
        managed.traces.some((trace) => trace.includes(secret)),
        false,
      )
    }
  })
  for (const isServing of [true, false])
    it(`records each step ${isServing ? 'with' : 'without'} a server`, async (t) => {
      const managed = makeWithSecrets(t)
      const server = isServing ? await managed.serve() : undefined
      for (const flags of [[], [], [], ['--force']])
        assert.equal((await managed.cardea(['secret', 'rotate', ...flags])).code, 0)
      const { stdout } = await managed.cardea(['audit', 'list', '--event', 'secrets.rotated', '--json'])
      const steps = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      assert.deepEqual(
        steps.map(({ step }) => step),
        ['added', 'activated', 'removed'],
      )
      assert.equal(steps[2]?.file, '1.key')
      assert.equal(steps[0]?.actor, '_owner')
      if (server) await stop(server)
    })
  it('reports a server that reads another folder', async (t) => {
    const [mine, other] = [makeWithSecrets(t), makeWithSecrets(t)]
    const server = await other.serve()
    const { code, stderr } = await mine.cardea(['secret', 'rotate', '--reload', server.multiModel])
    // until then it had the same secret, in a folder of its own
    assert.deepEqual([code, /has other secrets than this folder.*\nThe folder was changed\./.test(stderr)], [1, true])
    const again = await mine.cardea(['secret', 'rotate', '--reload', server.multiModel])
    assert.deepEqual([again.code, /\nNothing was changed\./.test(again.stderr)], [1, true])
    assert.deepEqual(listSecrets(mine), ['.rotation.json', '1.key', '1.key.next'])
    await stop(server)
  })
  it('verifies every server before it changes anything', async (t) => {
    const [managed, other] = [makeWithSecrets(t), makeWithSecrets(t)]
    const [server, stranger] = [await managed.serve(), await other.serve()]
    const rotate = (...urls: string[]) =>
      managed.cardea(['secret', 'rotate', ...urls.flatMap((url) => ['--reload', url])])
    const first = await rotate(server.multiModel)
    assert.equal(
      first.stderr,
      `${server.multiModel} is ready: it has the secrets of the folder.\n${server.multiModel} has loaded them.\n`,
    )
    const before = listSecrets(managed)
    // the new secret must not sign before every server has it
    for (const late of [stranger.multiModel, 'http://127.0.0.1:1']) {
      const { code, stdout, stderr } = await rotate(server.multiModel, late)
      assert.deepEqual([code, stdout, /\nNothing was changed\.\n$/.test(stderr)], [1, '', true], stderr)
      assert.deepEqual(listSecrets(managed), before)
    }
    const second = await rotate(server.multiModel)
    assert.match(second.stdout, /^2 of 3/)
    await stop(server)
    await stop(stranger)
  })
  it('says what is wrong at each server, and changes nothing', async (t) => {
    const [managed, other] = [makeWithSecrets(t), makeWithSecrets(t)]
    writeFileSync(join(other.folder, 'tokens', '1.key'), 'another secret, which is long enough')
    const [server, stranger] = [await managed.serve(), await other.serve()]
    const urls = [server.document, stranger.multiModel, 'http://127.0.0.1:1']
    const words = urls.flatMap((url) => ['--reload', url])
    const { code, stdout, stderr } = await managed.cardea(['secret', 'rotate', ...words])
    assert.deepEqual([code, stdout, listSecrets(managed)], [1, '', ['1.key']])
    const [atDocumentDoor, atStranger, atNothing, last] = stderr.split('\n')
    assert.equal(atDocumentDoor, `${server.document} is a document door: name the multi-model door.`)
    assert.match(atStranger ?? '', /does not know the signing secret \(401\)\. Run cardea reload there\./)
    assert.match(atNothing ?? '', /cannot be reached/)
    assert.equal(last, 'Nothing was changed.')
    await stop(server)
    await stop(stranger)
  })
  it('reloads and compares while it waits', async (t) => {
    const managed = makeWithSecrets(t)
    const server = await managed.serve()
    const rotate = () => managed.cardea(['secret', 'rotate', '--reload', server.multiModel])
    for (const step of [/^1 of 3/, /^2 of 3/, /^Nothing was changed/]) assert.match((await rotate()).stdout, step)
    writeFileSync(join(managed.folder, 'tokens', '2.key'), 'a third secret, which is long enough')
    const { stdout, stderr } = await rotate()
    assert.match(stdout, /^Nothing was changed/)
    assert.match(stderr, /is ready: it has the secrets of the folder/)
    const { stdout: header } = await managed.cardea(['token', 'header', '--superuser'])
    const as = header.trim().replace('Authorization: ', '')
    const { body } = await createAsk(server.multiModel)('GET', '/_admin/server/jwt', { as })
    assert.equal(JSON.stringify(body).match(/sha256/g)?.length, 3)
    await stop(server)
  })
  it('reports an unreachable server', async (t) => {
    const managed = makeWithSecrets(t)
    const { code, stderr } = await managed.cardea(['secret', 'rotate', '--reload', 'http://127.0.0.1:1'])
    assert.deepEqual([code, /^http:\/\/127\.0\.0\.1:1 cannot be reached/.test(stderr)], [1, true])
  })
  it('needs a folder', async (t) => {
    const managed = makeWithSecrets(
      t,
      CONFIG.replace('jwt-secret-folder = tokens', 'jwt-secret-keyfile = tokens/1.key'),
    )
    const { code, stderr } = await managed.cardea(['secret', 'rotate'])
    assert.deepEqual([code, /^Only secrets in a folder can be exchanged/.test(stderr)], [1, true])
  })
})

describe('cardea reload', () => {
  it('says that it loaded other secrets', async (t) => {
    const managed = makeWithSecrets(t)
    const server = await managed.serve()
    writeFileSync(join(managed.folder, 'tokens', '2.key'), 'another secret, which is long enough')
    const { stdout } = await managed.cardea(['reload'])
    assert.match(stdout, /^Loaded: server\.jwt-secret-folder \(2 secrets\)\.$/m)
    assert.equal((await managed.cardea(['reload'])).stdout, 'No option has changed.\n')
    await stop(server)
  })
})

describe('cardea token', () => {
  it('creates tokens of a user and of a superuser that a server accepts', async (t) => {
    const managed = makeWithSecrets(t)
    const server = await managed.serve()
    const ask = createAsk(server.multiModel)
    const make = async (...args: string[]) => (await managed.cardea(['token', 'create', ...args])).stdout.trim()
    const status = async (path: string, token: string) => (await ask('GET', path, { as: `Bearer ${token}` })).status
    assert.equal(await status('/_api/version', await make('--user', 'admin')), 200)
    assert.equal(await status('/_admin/server/jwt', await make('--user', 'admin')), 403)
    assert.equal(await status('/_admin/server/jwt', await make('--superuser', '--expires', 'never')), 200)
    const dated = await make('--superuser', '--expires', '2099-12-31T18:00:00Z')
    assert.equal(await status('/_admin/server/jwt', dated), 200)
    assert.equal(JSON.parse(String(Buffer.from(dated.split('.')[1] ?? '', 'base64url'))).exp, 4102423200)
    const narrow = await make('--superuser', '--paths', '/_api/version')
    assert.deepEqual([await status('/_api/version', narrow), await status('/_admin/version', narrow)], [200, 401])
    assert.equal(await status('/_api/version', await make('--user', 'unknown')), 401)
    await stop(server)
  })

  const rows: readonly { name: string; args: readonly string[]; code: number; says: RegExp }[] = [
    { name: 'whose', args: ['create'], code: 2, says: /Give --user NAME or --superuser/ },
    { name: 'both', args: ['create', '--user', 'a', '--superuser'], code: 2, says: /cannot be used with/ },
    { name: 'an empty name', args: ['create', '--user', ''], code: 2, says: /must not be empty/ },
    {
      name: 'an unknown time',
      args: ['create', '--superuser', '--expires', '1y'],
      code: 2,
      says: /30d, a time such as 2030-12-31, or never/,
    },
    { name: 'no time at all', args: ['create', '--superuser', '--expires', '0'], code: 2, says: /has passed/ },
    { name: 'a past day', args: ['create', '--superuser', '--expires', '2001-01-01'], code: 2, says: /has passed/ },
    { name: 'a missing path', args: ['create', '--superuser', '--paths', 'x'], code: 2, says: /begin with a slash/ },
    {
      name: 'rubbish',
      args: ['show', 'rubbish'],
      code: 1,
      says: /Not good: it is not three/,
    },
  ]
  for (const { name, args, code, says } of rows) {
    it(`rejects ${name}`, async (t) => {
      const ended = await makeWithSecrets(t).cardea(['token', ...args])
      assert.equal(ended.code, code)
      assert.match(ended.stdout + ended.stderr, says)
    })
  }

  it('show decodes and verifies a token, and says what is wrong', async (t) => {
    const managed = makeWithSecrets(t)
    const make = async (...args: string[]) => (await managed.cardea(['token', 'header', ...args])).stdout
    const good = await managed.cardea(['token', 'show', '--json'], await make('--user', 'ann', '--expires', '90s'))
    const { header, claims, isGood, issuedAt, expiresAt } = JSON.parse(good.stdout)
    assert.deepEqual([Date.parse(issuedAt), Date.parse(expiresAt)], [claims.iat * 1000, claims.exp * 1000])
    assert.deepEqual([good.code, header, isGood], [0, { alg: 'HS256', typ: 'JWT' }, true])
    assert.deepEqual([claims.preferred_username, claims.iss, claims.exp - claims.iat], ['ann', 'arangodb', 90])
    const token = await make('--superuser')
    writeFileSync(join(managed.folder, 'tokens', '1.key'), 'something else entirely')
    const bad = await managed.cardea(['token', 'show'], token)
    assert.deepEqual([bad.code, bad.stderr], [1, 'Not good: none of the secrets signed it.\n'])
  })
  it('create fails without a secret', async (t) => {
    const managed = makeWithSecrets(t, CONFIG.replace('jwt-secret-folder = tokens\n', ''))
    const { code, stderr } = await managed.cardea(['token', 'create', '--superuser'])
    assert.deepEqual([code, /^No secret of tokens is configured/.test(stderr)], [1, true])
  })
})

describe('cardea config set, while no server runs', () => {
  it('rejects a cookie secret that signs tokens', async (t) => {
    const managed = makeWithSecrets(t)
    const words = ['config', 'set', 'chttpd_auth.secret', '--value-stdin']
    const refused = await managed.cardea(words, SECRET)
    assert.notEqual(refused.code, 0)
    assert.match(refused.stderr, /a secret of tokens is also chttpd_auth\.secret/)
    assert.equal((await managed.cardea(words, 'another one, of cookies alone')).code, 0)
  })
})
