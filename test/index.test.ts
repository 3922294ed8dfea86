import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import {
  type Cardea,
  ConfigError,
  type CreateCardea,
  createCardea,
  createTestCardea,
  StartError,
  TEST_ADMINISTRATOR,
} from '../src/index.ts'
import { get, signsIn } from './support/process.ts'
import { makeFolder } from './support/scope.ts'

const ADMIN = [TEST_ADMINISTRATOR.name, TEST_ADMINISTRATOR.password] as const

async function open(t: TestContext, given: CreateCardea = {}): Promise<Cardea> {
  const cardea = await createTestCardea(given)
  t.after(() => cardea.close())
  return cardea
}

describe('the library', () => {
  it('opens both doors, and closes them', async (t) => {
    const cardea = await open(t)
    const { document, multiModel } = await cardea.listen()
    assert.equal((await get(`${document[0]}/_up`)).status, 200)
    assert.equal((await get(`${multiModel[0]}/_api/version`, ADMIN)).status, 200)
    await cardea.close()
    await assert.rejects(get(`${document[0]}/_up`))
    await assert.rejects(get(`${multiModel[0]}/_admin/server/availability`))
  })

  it('may be closed twice, and before it listens', async () => {
    const cardea = await createTestCardea()
    await Promise.all([cardea.close(), cardea.close()])
    await cardea.close()
  })

  it('is closed at the end of a block by await using', async () => {
    let url = ''
    {
      await using cardea = await createTestCardea()
      url = (await cardea.listen()).document[0] ?? ''
      assert.equal((await get(`${url}/_up`)).status, 200)
    }
    await assert.rejects(get(`${url}/_up`))
  })

  it('handles requests of another server in the dialect of one door', async (t) => {
    const cardea = await open(t)
    const server = createServer((request, response) => {
      void cardea.handle(request, response, request.headers.host?.startsWith('localhost') ? 'document' : 'multi-model')
    }).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    assert.equal((await get(`http://localhost:${port}/_up`)).status, 200)
    assert.match((await get(`http://127.0.0.1:${port}/nowhere`)).body, /"errorNum"/)
    await cardea.close()
    assert.equal((await get(`http://localhost:${port}/_up`)).status, 503, 'closed')
  })

  it('lets a request handed in finish before it closes', async (t) => {
    const cardea = await open(t, { options: { chttpd_auth: { iterations: 300_000 } } })
    const begun = Promise.withResolvers<void>()
    const server = createServer((request, response) => {
      void cardea.handle(request, response)
      begun.resolve()
    }).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const answer = signsIn(`http://127.0.0.1:${port}`, ADMIN)
    await begun.promise
    await cardea.close()
    assert.ok(await answer)
  })

  it('reads files, and reads them again on reload', async (t) => {
    const path = join(makeFolder(t), 'a.ini')
    writeFileSync(path, '[chttpd]\nrequire_valid_user = false\n', { mode: 0o600 })
    const cardea = await open(t, { files: [path] })
    const { document } = await cardea.listen()
    assert.equal((await get(`${document[0]}/`)).status, 200)
    writeFileSync(path, '[chttpd]\nrequire_valid_user = true\n')
    assert.deepEqual(await cardea.reload(), {
      isApplied: true,
      problems: [],
      changed: ['chttpd.require_valid_user'],
      needRestart: [],
      secrets: [],
    })
    assert.equal((await get(`${document[0]}/`)).status, 401)
    writeFileSync(path, '[chttpd]\nrequire_valid_user = perhaps\n')
    const report = await cardea.reload()
    assert.equal(report.isApplied, false)
    assert.match(report.problems.join(), /a\.ini:2\)$/)
    assert.equal((await get(`${document[0]}/`)).status, 401)
  })

  it('reads the environment only where it is given', async (t) => {
    const env = { CARDEA_CHTTPD__REQUIRE_VALID_USER: 'true' }
    for (const [given, status] of [[{}, 200] as const, [{ env }, 401] as const]) {
      const { document } = await (await open(t, given)).listen()
      assert.equal((await get(`${document[0]}/`)).status, status)
    }
  })

  it('says everything that is wrong at once', async () => {
    // What a program without types may give.
    const options = JSON.parse('{"chttpd":{"prot":1,"port":"x"},"__proto__":{"a":1}}')
    await assert.rejects(createCardea({ options }), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.ok(error instanceof StartError)
      assert.equal(error.name, 'ConfigError')
      assert.equal(error.problems[0]?.nearest, 'options.chttpd.port')
      assert.deepEqual(
        error.problems.map(({ kind, place }) => `${kind} ${place}`),
        ['unknown-option options.chttpd.prot', 'unknown-option options.__proto__.a', 'bad-value options.chttpd.port'],
      )
      return true
    })
  })

  it('names the ways to give an administrator', async () => {
    const options = { store: { url: 'sqlite::memory:' } }
    const message = /options: \{ admins: \{ NAME: … \} \} +or files: /
    await assert.rejects(createCardea({ options }), { name: 'StartError', message })
  })

  const wrong: readonly [given: string, says: RegExp][] = [
    ['{"file":["x"]}', /^createCardea takes no file: \{ options, files, env, log, claims \}$/],
    ['{"files":"x"}', /^files must be a list of paths$/],
    ['{"files":[1]}', /^files must be/],
    ['{"options":[]}', /^options must be an object/],
    ['{"options":{"chttpd":"x"}}', /^options\.chttpd must be an object/],
    ['{"options":{"chttpd":{"port":null}}}', /^options\.chttpd\.port must be a text/],
    ['{"env":3}', /^env must be/],
    ['{"log":{}}', /^log must have a function debug$/],
    ['{"claims":{}}', /^claims must be a function$/],
    ['"x"', /^createCardea takes an object/],
  ]
  for (const [given, message] of wrong) {
    it(`says what is wrong with ${given}`, async () => {
      await assert.rejects(createCardea(JSON.parse(given)), { name: 'TypeError', message })
    })
  }

  it('listens once, and not any more once it is closed', async (t) => {
    const cardea = await open(t)
    await cardea.listen()
    await assert.rejects(cardea.listen(), { name: 'StartError', message: 'This Cardea is already listening' })
    await cardea.close()
    await assert.rejects(cardea.listen(), { name: 'StartError', message: /is closed/ })
  })

  it('closed while it begins to listen, it leaves no door open', async (t) => {
    const path = join(makeFolder(t), 'door')
    const cardea = await open(t, { options: { server: { endpoint: `unix://${path}` } } })
    const listening = assert.rejects(cardea.listen(), { name: 'StartError', message: /was closed while/ })
    await cardea.close()
    await listening
    assert.equal(existsSync(path), false)
  })

  it('rejects for a door there is not, and spares a program that does not look', async (t) => {
    const cardea = await open(t)
    const server = createServer((request, response) => {
      // What a program without types may give.
      void cardea.handle(request, response, 'bogus' as 'document')
      cardea.handle(request, response, '__proto__' as 'document').catch(({ name }) => response.end(name))
    }).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    assert.equal((await get(`http://127.0.0.1:${port}/`)).body, 'TypeError')
  })

  it('leaves nothing open where it cannot start', async (t) => {
    const first = await open(t)
    const { document } = await first.listen()
    const port = Number(new URL(document[0] ?? '').port)
    const second = await open(t, { options: { chttpd: { port } } })
    await assert.rejects(second.listen(), StartError)
    await assert.rejects(
      createCardea({ options: { store: { url: 'sqlite::memory:' } } }),
      (error) => error instanceof StartError && /No administrator/.test(error.message),
    )
  })
})

it('the library for tests hashes cheaply and leaves nothing on disk', async (t) => {
  const here = process.cwd()
  t.after(() => process.chdir(here))
  process.chdir(makeFolder(t))
  const cardea = await open(t)
  const { document } = await cardea.listen()
  assert.ok(await signsIn(document[0] ?? '', ADMIN))
  const { body } = await get(`${document[0]}/_node/_local/_config/chttpd_auth/iterations`, ADMIN)
  assert.equal(body.trim(), '"1"')
  assert.equal(existsSync('data'), false)
})

describe('the passwords of administrators in options of createCardea', () => {
  const open = (options: CreateCardea['options'], files: readonly string[] = []) =>
    createCardea({ options: { store: { url: 'sqlite::memory:' }, chttpd_auth: { iterations: 1 }, ...options }, files })

  it('are refused with the name and the rule if they break one', async () => {
    const isProblem = (error: Error) =>
      error instanceof ConfigError &&
      error.message.includes('administrator ada breaks a rule for passwords: Use at least 12 characters.') &&
      !error.message.includes('shortpw')
    await assert.rejects(open({ admins: { ada: 'shortpw', bob: 'long enough password' } }), isProblem)
    const rule = { iterations: 1, password_regexp: '[{"[0-9]", "It needs a digit."}]' }
    const needsDigit = /administrator ada breaks a rule for passwords: It needs a digit\./
    await assert.rejects(open({ chttpd_auth: rule, admins: { ada: 'long enough password' } }), needsDigit)
  })

  it('are accepted if they conform, and hashes are not checked', async () => {
    const hash = `-pbkdf2-${'0'.repeat(64)},00,1`
    for (const text of ['long enough password', hash]) await (await open({ admins: { ada: text } })).close()
  })

  it('are accepted in files, with a warning', async (t) => {
    const path = join(makeFolder(t), 'local.ini')
    writeFileSync(path, '[admins]\nada = shortpw\n', { mode: 0o600 })
    await (await open({}, [path])).close()
  })
})

describe('the defaults of createCardea', () => {
  const OPTIONS = {
    store: { url: 'sqlite::memory:' },
    chttpd_auth: { iterations: 1 },
    admins: { admin: 'admin password' },
  }

  /** The SameSite attribute of a session cookie, and whether a short password is accepted. */
  async function probe(t: TestContext, given: CreateCardea) {
    const cardea = await createCardea({ ...given, options: { ...OPTIONS, ...given.options } })
    t.after(() => cardea.close())
    const { cookie } = await cardea.sessions.create('admin')
    const made = await cardea.users.create({ name: 'ada', password: 'short' }).catch(({ code }) => code)
    return [/SameSite=\w+/.exec(cookie)?.[0], typeof made === 'string' ? made : 'created']
  }

  const file = (t: TestContext, text: string): string => {
    const path = join(makeFolder(t), 'local.ini')
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }

  it('are those of cardea init: long passwords and SameSite=Lax', async (t) =>
    assert.deepEqual(await probe(t, {}), ['SameSite=Lax', 'password_refused']))

  it('give way to options', async (t) => {
    const options = { chttpd_auth: { iterations: 1, same_site: 'strict' }, auth: { 'min-password-length': 5 } } as const
    assert.deepEqual(await probe(t, { options }), ['SameSite=Strict', 'created'])
  })

  it('give way to files, earlier names included', async (t) => {
    const path = file(t, '[auth]\nmin-password-length = 0\n[couch_httpd_auth]\nsame_site = none\n')
    assert.deepEqual(await probe(t, { files: [path] }), ['SameSite=None', 'created'])
  })

  it('give way to the environment', async (t) => {
    const env = { CARDEA_CHTTPD_AUTH__SAME_SITE: 'strict', CARDEA_AUTH__MIN_PASSWORD_LENGTH: '0' }
    assert.deepEqual(await probe(t, { env }), ['SameSite=Strict', 'created'])
  })
})
