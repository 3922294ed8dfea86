import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import { toFlags } from '../../src/config/flags.ts'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { openLiveConfig } from '../../src/live-config/live-config.ts'
import { ConfigError, openConfiguration } from '../../src/live-config/load.ts'
import { createSettingsService } from '../../src/live-config/settings-service.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { KERNEL_ROWS } from '../../src/modules.ts'
import type { StoredPassword } from '../../src/passwords/schemes.ts'
import { openStore } from '../../src/store/create-store.ts'
import { type App, createApp } from '../../src/wiring/app.ts'
import { isRefused } from '../support/directory.ts'
import { waitUntil } from '../support/wait.ts'

type Options = Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>

const OPTIONS: Options = {
  store: { url: 'sqlite::memory:' },
  chttpd: { port: 0, require_valid_user: true },
  server: { endpoint: 'tcp://127.0.0.1:0' },
  chttpd_auth: { iterations: 1 },
  admins: { root: 'secret' },
}

const toOptions = (options: Options, files: readonly string[] = []) => {
  const merged = Object.entries({ ...OPTIONS, ...options })
  const all = Object.fromEntries(merged.map(([section, given]) => [section, { ...OPTIONS[section], ...given }]))
  const flags = { configs: files, flags: toFlags(all), problems: [] }
  return { load: () => openConfiguration({ table: OPTION_TABLE, flags, env: {}, cwd: process.cwd() }), log: SILENT_LOG }
}

async function openApp(t: TestContext, options: Options = {}, files: readonly string[] = []): Promise<App> {
  const app = await createApp(toOptions(options, files))
  t.after(app.close)
  return app
}

function createFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-app-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Status of a request at each door. */
async function askDoors(app: App): Promise<(credential: string) => Promise<readonly [number, number]>> {
  const { document, multiModel } = await app.listen()
  const ask = async (url: string, credential: string) => {
    const headers = { authorization: `Basic ${Buffer.from(credential).toString('base64')}` }
    return (await fetch(url, { headers })).status
  }
  return async (credential) => [
    await ask(`${document[0]}/`, credential),
    await ask(`${multiModel[0]}/_api/version`, credential),
  ]
}

describe('a user', () => {
  it('signs in at both doors, and enters only granted databases at the multi-model door', async (t) => {
    const app = await openApp(t)
    const ask = await askDoors(app)
    await app.directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
    assert.deepEqual(await ask('ada:analytical'), [200, 401])
    await app.directory.setGrant('ada', PROGRAM, { database: '_system' }, 'ro')
    assert.deepEqual(await ask('ada:analytical'), [200, 200])
    await app.directory.setGrant('ada', PROGRAM, { database: '_system' }, 'none')
    assert.deepEqual(await ask('ada:analytical'), [200, 401])
    assert.deepEqual(await ask('ada:wrong'), [401, 401])
    assert.deepEqual(await ask('root:secret'), [200, 200])
  })

  it('a changed password and a deactivation take effect at once', async (t) => {
    const app = await openApp(t)
    const ask = await askDoors(app)
    await app.directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
    assert.equal((await ask('ada:analytical'))[0], 200)
    await app.directory.setPassword('ada', PROGRAM, { password: 'engine' })
    assert.equal((await ask('ada:analytical'))[0], 401)
    assert.equal((await ask('ada:engine'))[0], 200)
    await app.directory.setActive('ada', PROGRAM, false)
    assert.equal((await ask('ada:engine'))[0], 401)
  })

  it('is rejected if its hash is outside the iteration limits', async (t) => {
    const app = await openApp(t, { chttpd_auth: { min_iterations: 2 } })
    const ask = await askDoors(app)
    const stored: StoredPassword = { scheme: 'pbkdf2', prf: 'sha', iterations: 1, salt: 'aa', hash: '00' }
    await app.directory.createUser({ name: 'ada', password: { stored } }, PROGRAM)
    assert.deepEqual(await ask('ada:analytical'), [403, 401])
    await app.directory.setPassword('ada', PROGRAM, { password: 'analytical' })
    assert.equal((await ask('ada:analytical'))[0], 200, 'a new password lies within the limits')
    assert.deepEqual(await ask('root:secret'), [200, 200])
  })

  it('has an old hash upgraded at sign-in, unless the option is off', async (t) => {
    const hash = 'd4b5d8403f6c1d1c7975fb19cbbacf260cebecdf'
    const old: StoredPassword = { scheme: 'simple', salt: '1112283cf988a34f124200a050d308a1', hash }
    for (const upgrade_hash_on_auth of [false, true]) {
      const folder = createFolder(t)
      const store = { url: `sqlite:${folder}/cardea.db` }
      const app = await openApp(t, { store, chttpd_auth: { upgrade_hash_on_auth } })
      const ask = await askDoors(app)
      await app.directory.createUser({ name: 'ada', password: { stored: old } }, PROGRAM)
      assert.equal((await ask('ada:apple'))[0], 200)
      await app.close()
      assert.equal((await readPassword(store.url, 'ada')).scheme, upgrade_hash_on_auth ? 'pbkdf2' : 'simple')
    }
  })

  it('has its password hashed in the configured scheme', async (t) => {
    const app = await openApp(t, { chttpd_auth: { password_scheme: 'simple' } })
    const { password } = await app.directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
    assert.equal(password.scheme, 'simple')
    assert.match(await app.directory.setAdministrator('ada', PROGRAM, { password: 'x' }), /^-hashed-/)
  })
})

async function readPassword(url: string, name: string): Promise<StoredPassword> {
  const store = await openStore(url, { log: SILENT_LOG })
  const record = (await store.findUser(name))?.record
  await store.close()
  return record?.kind === 'user' ? record.password : assert.fail(`there is no ${name}`)
}

describe('health', () => {
  it('fails at both doors while the user data is stale', async (t) => {
    const app = await openApp(t, { store: { 'max-staleness': 0.001 }, chttpd: { require_valid_user: false } })
    const { document, multiModel } = await app.listen()
    const ask = async (url: string) => {
      const response = await fetch(url)
      return [response.status, await response.json()]
    }
    const paths = [`${document[0]}/_up`, `${multiModel[0]}/_admin/server/availability`] as const
    assert.deepEqual(await Promise.all(paths.map(async (path) => (await ask(path))[0])), [200, 200])
    // from now on the changes of the store are not followed
    await app.directory.close()
    await waitUntil(async () => (await ask(paths[0]))[0] === 503)
    const reason = 'The user directory cannot be reached.'
    assert.deepEqual(await ask(paths[0]), [503, { error: 'service unavailable', reason }])
    const words = { error: true, code: 503, errorNum: 503, errorMessage: 'service unavailable' }
    assert.deepEqual(await ask(paths[1]), [503, words])
  })
})

describe('password rules', () => {
  it('that are invalid prevent a start, with the place of the error', async () => {
    const broken = { chttpd_auth: { password_regexp: '["(", 5]' } }
    await assert.rejects(createApp(toOptions(broken)), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.deepEqual(
        error.problems.map(({ kind, place }) => [kind, place]),
        [['bad-value', 'options.chttpd_auth.password_regexp']],
      )
      return true
    })
  })

  it('cannot be set to an invalid value', async (t) => {
    const liveConfig = await openLiveConfig({ ...toOptions({}), rows: KERNEL_ROWS })
    t.after(() => liveConfig.kernel.store.close())
    const settings = createSettingsService(liveConfig)
    await assert.rejects(
      settings.set({ section: 'chttpd_auth', key: 'password_regexp', text: '["("]' }, PROGRAM),
      (error) => error instanceof Error,
    )
    assert.equal(liveConfig.get().settings.values.chttpd_auth.password_regexp, '')
    await settings.set({ section: 'chttpd_auth', key: 'password_regexp', text: '["[0-9]"]' }, PROGRAM)
    assert.equal(liveConfig.get().settings.values.chttpd_auth.password_regexp, '["[0-9]"]')
  })

  it('apply to users and administrators; a password in a file gets only a warning', async (t) => {
    const warnings: string[] = []
    const options = toOptions({ chttpd_auth: { password_regexp: '["[0-9]"]' } })
    const app = await createApp({ ...options, log: { ...SILENT_LOG, warn: (text) => warnings.push(text) } })
    t.after(app.close)
    assert.ok(warnings.some((text) => text.includes('does not conform')))
    const draft = { name: 'ada', password: { password: 'analytical' } }
    await assert.rejects(app.directory.createUser(draft, PROGRAM), isRefused('password_refused'))
    await assert.rejects(app.directory.setAdministrator('ada', PROGRAM, draft.password), isRefused('password_refused'))
  })
})

describe('administrators', () => {
  it('changed at run time stay so after a restart, whatever the flags are', async (t) => {
    const options = { store: { url: `sqlite:${createFolder(t)}/cardea.db` }, admins: { root: 'secret', ada: 'x' } }
    const first = await openApp(t, options)
    const text = await first.directory.setAdministrator('root', PROGRAM, { password: 'other' })
    await first.directory.removeAdministrator('ada', PROGRAM)
    await first.close()
    const second = await openApp(t, options)
    assert.deepEqual(second.directory.listAdministrators(), [{ name: 'root', text }])
  })

  it('keep their sessions over a restart and lose them with another password', async (t) => {
    const options = { store: { url: `sqlite:${createFolder(t)}/cardea.db` } }
    const first = await openApp(t, options)
    const account = (await first.directory.findAccount('root')) ?? assert.fail('root cannot sign in')
    const session = first.directory.createSession(account)
    await first.close()
    const second = await openApp(t, options)
    assert.equal(await second.directory.isSessionLive(session), true)
    await second.directory.setAdministrator('root', PROGRAM, { password: 'other' })
    assert.equal(await second.directory.isSessionLive(session), false)
  })

  it('in a file lose their sessions when the hash changes', async (t) => {
    const folder = createFolder(t)
    const file = join(folder, 'local.ini')
    const hash = (digit: string) => `-pbkdf2-${digit.repeat(64)},salt,1`
    writeFileSync(file, `[admins]\nada = ${hash('a')}\n`)
    const app = await openApp(t, {}, [file])
    const account = (await app.directory.findAccount('ada')) ?? assert.fail('ada cannot sign in')
    const session = app.directory.createSession(account)
    assert.equal((await app.reload()).isApplied, true)
    assert.equal(await app.directory.isSessionLive(session), true)
    writeFileSync(file, `[admins]\nada = ${hash('b')}\n`)
    await app.reload()
    assert.equal(await app.directory.isSessionLive(session), false)
  })

  it('in plain text in a file are hashed once; a later change at run time is kept', async (t) => {
    const file = join(createFolder(t), 'local.ini')
    writeFileSync(file, '[admins]\nada = analytical ; her own\n', { mode: 0o600 })
    const app = await openApp(t, {}, [file])
    assert.doesNotMatch(readFileSync(file, 'utf8'), /analytical/)
    const text = await app.directory.setAdministrator('ada', PROGRAM, { password: 'engine' })
    await app.directory.createUser({ name: 'bob' }, PROGRAM)
    await app.directory.setAdministrator('third', PROGRAM, { password: 'x' })
    assert.equal(app.directory.listAdministrators().find(({ name }) => name === 'ada')?.text, text)
  })

  it('that are removed while a new password is hashed do not come back', async (t) => {
    const { directory } = await openApp(t, { admins: { root: 'secret', ada: 'analytical' } })
    const changing = directory.setAdministrator('ada', PROGRAM, { password: 'engine' }, { expected: 'existing' })
    const refused = assert.rejects(changing, isRefused('not_found'))
    await directory.removeAdministrator('ada', PROGRAM)
    await refused
    assert.equal(directory.isAdministrator('ada'), false)
  })

  for (const names of [
    ['ada', 'ada', 'ada'],
    ['ada', 'ADA', 'Ada'],
  ])
    it(`are created once by requests at the same time for ${names.join(', ')}`, async (t) => {
      const { directory } = await openApp(t)
      const outcomes = await Promise.allSettled(
        names.map((name, i) =>
          directory.setAdministrator(name, PROGRAM, { password: `engine ${i}` }, { expected: 'new' }),
        ),
      )
      const created = outcomes.filter(({ status }) => status === 'fulfilled')
      assert.equal(created.length, 1)
      assert.equal(directory.listAdministrators().length, 2)
    })

  it('cannot all be removed', async (t) => {
    const { directory } = await openApp(t)
    await assert.rejects(directory.removeAdministrator('root', PROGRAM), isRefused('forbidden'))
  })
})

describe('a change by another node', () => {
  async function openWithNeighbour(t: TestContext, files: readonly string[] = []) {
    const url = `sqlite:${createFolder(t)}/cardea.db`
    const app = await openApp(t, { store: { url } }, files)
    const neighbour: Store = await openStore(url, { log: SILENT_LOG })
    t.after(() => neighbour.close())
    const set = async (section: string, key: string, text: string) => {
      await neighbour.setSetting({ section, key, text, nowSeconds: 1 })
      await app.directory.catchUp()
    }
    const unset = async (section: string, key: string) => {
      await neighbour.unsetSetting({ section, key, nowSeconds: 1 })
      await app.directory.catchUp()
    }
    return { app, set, unset, values: () => app.settings.get().values }
  }

  it('takes effect here: settings and administrators', async (t) => {
    const { app, set, unset, values } = await openWithNeighbour(t)
    await set('chttpd_auth', 'min_iterations', '7')
    assert.equal(values().chttpd_auth.min_iterations, 7)
    await unset('chttpd_auth', 'min_iterations')
    assert.equal(values().chttpd_auth.min_iterations, 1)
    await set('admins', 'ada', `-pbkdf2-${'a'.repeat(64)},salt,1`)
    assert.ok(app.directory.isAdministrator('ada'))
    await unset('admins', 'root')
    assert.equal(app.directory.isAdministrator('root'), false)
  })

  it('with an invalid setting keeps the old settings, but removes administrators', async (t) => {
    const { app, set, unset, values } = await openWithNeighbour(t)
    await set('admins', 'ada', `-pbkdf2-${'a'.repeat(64)},salt,1`)
    await set('chttpd_auth', 'timeout', 'a form of the next version')
    await set('chttpd_auth', 'min_iterations', '7')
    assert.equal(values().chttpd_auth.min_iterations, 1)
    await unset('admins', 'root')
    assert.equal(app.directory.isAdministrator('root'), false)
    await unset('chttpd_auth', 'timeout')
    assert.equal(values().chttpd_auth.min_iterations, 7)
  })

  it('takes effect even if a file here has become invalid', async (t) => {
    const file = join(createFolder(t), 'local.ini')
    writeFileSync(file, '[chttpd_auth]\nmax_iterations = 100\n')
    const { app, set, values } = await openWithNeighbour(t, [file])
    writeFileSync(file, '[chttpd_auth]\nmax_iterations = half a wo')
    await set('chttpd_auth', 'min_iterations', '7')
    assert.deepEqual([values().chttpd_auth.min_iterations, values().chttpd_auth.max_iterations], [7, 100])
    assert.equal((await app.reload()).isApplied, false)
  })
})
