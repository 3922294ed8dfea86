// Workers of one server load the same files, or none of them does.
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { Client } from 'pg'
import type { Siblings } from '../../src/base/siblings.ts'
import { Router } from '../../src/cluster/router.ts'
import type { ReloadReport } from '../../src/live-config/reload.ts'
import { connectPostgres } from '../store/postgres-server.ts'
import { AS_ADMIN, basic, type Request, send } from '../support/request.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { type SiblingOptions, type SiblingServer, startSiblings } from '../support/sibling-servers.ts'
import { waitUntil } from '../support/wait.ts'

const scope = createSharedScope()
const postgres = await connectPostgres()
scope.after(() => postgres.stop())

const INI = '[admins]\nadmin = adminpw\n'

async function start(t: TestContext, ini = '', wrap?: SiblingOptions['wrap']) {
  const folder = makeFolder(t)
  const file = join(folder, 'local.ini')
  const write = (text: string) => writeFileSync(file, `${INI}${text}`)
  write(ini)
  const options = { store: { url: await postgres.createPlace() }, admins: { admin: undefined } }
  const events: string[] = []
  const note = (_message: string, fields: Readonly<Record<string, unknown>> = {}) =>
    void (typeof fields['event'] === 'string' && events.push(fields['event']))
  const log = { debug: note, info: note, warn: note, error: note }
  const router = new Router(2)
  const [first, second] = await startSiblings(t, 2, { options, files: [file], log, router, ...(wrap && { wrap }) })
  if (!first || !second) return assert.fail('not started')
  const both = [first, second] as const
  return { first, second, both, folder, file, write, events, options, router }
}

const redirectOf = ({ app }: SiblingServer): string => app.settings.get().values.chttpd_auth.authentication_redirect
const withRedirect = (path: string) => `[chttpd_auth]\nauthentication_redirect = ${path}\n`
const signInStatus = async ({ document }: SiblingServer, as: string) =>
  (await send(document, { path: '/_session', as })).status

describe('a reload of workers', () => {
  for (const asked of [0, 1] as const)
    it(`through ${asked === 0 ? 'the first' : 'another'} applies the files in all of them, and is recorded once`, async (t) => {
      const { both, write, events } = await start(t, withRedirect('/old'))
      events.length = 0
      write(withRedirect('/new'))
      const report = await both[asked].app.reload()
      assert.equal(report.isApplied, true)
      assert.ok(report.changed.includes('chttpd_auth.authentication_redirect'))
      assert.deepEqual(both.map(redirectOf), ['/new', '/new'])
      assert.deepEqual(
        events.filter((event) => event === 'configuration.reloaded'),
        ['configuration.reloaded'],
      )
    })

  it('ends soon, as does another that begins when another worker becomes the first', async (t) => {
    const { both, first, second, write } = await start(t, withRedirect('/old'))
    write(withRedirect('/new'))
    const one = first.app.reload()
    first.member.setLeaving()
    await waitUntil(() => second.siblings.isFirst())
    const reports = await Promise.all([one, second.app.reload()])
    assert.deepEqual(
      reports.map(({ isApplied }) => isApplied),
      [true, true],
    )
    assert.deepEqual(both.map(redirectOf), ['/new', '/new'])
    // a worker that waits for the other is ended after two seconds
    assert.deepEqual(
      both.map((worker) => worker.isKilled()),
      [false, false],
    )
  })

  it('with a problem applies nothing in any of them', async (t) => {
    const { both, second, write, events } = await start(t, withRedirect('/old'))
    events.length = 0
    write(`${withRedirect('/new')}timeout = soon\n`)
    const report = await second.app.reload()
    assert.equal(report.isApplied, false)
    assert.match(report.problems.join(), /timeout/)
    assert.deepEqual(both.map(redirectOf), ['/old', '/old'])
    assert.deepEqual(events, ['reload.failed'])
  })

  it('hashes a plain-text password once, and all accept it', async (t) => {
    const { both, second, file, write } = await start(t)
    write('eve = evepw\n')
    assert.equal((await second.app.reload()).isApplied, true)
    assert.doesNotMatch(readFileSync(file, 'utf8'), /evepw/)
    assert.deepEqual(await Promise.all(both.map((server) => signInStatus(server, basic('eve', 'evepw')))), [200, 200])
    assert.deepEqual(await Promise.all(both.map((server) => signInStatus(server, AS_ADMIN))), [200, 200])
  })

  it('is made by a worker that finds changed files when it starts', async (t) => {
    const { both, file, write, options, router } = await start(t, withRedirect('/old'))
    write(withRedirect('/new'))
    await startSiblings(t, 1, { options, files: [file], router })
    assert.deepEqual(both.map(redirectOf), ['/new', '/new'])
  })
})

describe('a worker that starts', () => {
  it('serves nothing before it has the same files as the others', async (t) => {
    const { both, write, file, options, router } = await start(t, withRedirect('/old'))
    const steps: string[] = []
    const channel = 'tracing:net.server.listen:asyncStart'
    const onListen = () => void steps.push('listens')
    subscribe(channel, onListen)
    t.after(() => unsubscribe(channel, onListen))
    const wrap = (siblings: Siblings): Siblings => ({
      ...siblings,
      askFirst(topic, value) {
        if (topic.name === 'reload') steps.push('reloads')
        return siblings.askFirst(topic, value)
      },
    })
    write(withRedirect('/new'))
    const late = await startSiblings(t, 1, { options, files: [file], router, wrap })
    assert.deepEqual([...new Set(steps)], ['reloads', 'listens'])
    assert.deepEqual([...both, ...late].map(redirectOf), ['/new', '/new', '/new'])
  })

  it('serves nothing if it reads other files than the others, and a reload applies nothing then', async (t) => {
    const { both, folder, options, router } = await start(t, withRedirect('/old'))
    const other = join(folder, 'other.ini')
    writeFileSync(other, `${INI}${withRedirect('/other')}`)
    await assert.rejects(startSiblings(t, 1, { options, files: [other], router }), {
      message: `The other workers use other files, and a reload of all has failed:
The files changed while they were read: reload again`,
    })
    assert.deepEqual(both.map(redirectOf), ['/old', '/old'])
  })

  it('disturbs no reload of the others, and has what they have loaded', async (t) => {
    const { first, both, write, file, options, router } = await start(t, withRedirect('/old'))
    const reports: ReloadReport[] = []
    const wrap = (siblings: Siblings): Siblings => ({
      ...siblings,
      async askFirst(topic, value) {
        // it has read the files, and not all that they name
        if (topic.name === 'limits.share') {
          write(withRedirect('/new'))
          reports.push(await first.app.reload())
        }
        return siblings.askFirst(topic, value)
      },
    })
    const late = await startSiblings(t, 1, { options, files: [file], router, wrap })
    assert.deepEqual(
      reports.map(({ problems }) => problems),
      [[]],
    )
    assert.deepEqual([...both, ...late].map(redirectOf), ['/new', '/new', '/new'])
  })
})

describe('a reload of workers over a store that does not answer', () => {
  /** Does this while no setting can be read. */
  async function whileLocked<T>(url: string, work: () => T | Promise<T>): Promise<T> {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query('BEGIN; LOCK TABLE cardea_settings')
    try {
      return await work()
    } finally {
      await client.end()
    }
  }

  for (const [what, slow, isApplied] of [
    ['is prepared', 'reload.prepare', false],
    ['is applied', 'reload.apply', true],
  ] as const)
    it(`ends no worker while it ${what}`, async (t) => {
      let isSlow = false
      const wrap = (siblings: Siblings): Siblings => ({
        ...siblings,
        answer: (topic, handle) =>
          siblings.answer(topic, (value) =>
            isSlow && topic.name === slow ? whileLocked(options.store.url, () => handle(value)) : handle(value),
          ),
      })
      const { both, first, write, options } = await start(t, withRedirect('/old'), wrap)
      write(withRedirect('/new'))
      isSlow = true
      const report = await first.app.reload()
      assert.equal(report.isApplied, isApplied, report.problems.join())
      if (!isApplied) assert.deepEqual(report.problems, ['A worker could not read the store in time: reload again'])
      isSlow = false
      assert.equal((await first.app.reload()).isApplied, true)
      assert.deepEqual(both.map(redirectOf), ['/new', '/new'])
      assert.deepEqual(
        both.map((worker) => worker.isKilled()),
        [false, false],
      )
    })
})

describe('what holds until a reload', () => {
  it('holds in all workers, in one that starts later too, and ends in all', async (t) => {
    const { both, first, second, file, options, router } = await start(t, withRedirect('/file'))
    const path = '/_node/_local/_config/chttpd_auth/authentication_redirect'
    const headers = { 'X-Couch-Persist': 'false' }
    const request: Request = { method: 'PUT', path, as: AS_ADMIN, headers, body: JSON.stringify('/volatile') }
    assert.equal((await send(second.document, request)).status, 200)
    const all = [...both, ...(await startSiblings(t, 1, { options, files: [file], router }))]
    assert.deepEqual(all.map(redirectOf), ['/volatile', '/volatile', '/volatile'])
    assert.equal((await first.app.reload()).isApplied, true)
    assert.deepEqual(all.map(redirectOf), ['/file', '/file', '/file'])
  })
})

describe('secrets in a folder', () => {
  const KEYS = 'token-secret-of-workers-'

  it('are reloaded by all workers before a reload through one is acknowledged', async (t) => {
    const folder = makeFolder(t)
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text, { mode: 0o600 })
    write('1', `${KEYS}1`)
    // not watched: only the reload of one worker tells the others
    const server = { endpoint: 'tcp://127.0.0.1:0', 'jwt-secret-folder': folder, 'jwt-secret-watch': false }
    const options = { store: { url: await postgres.createPlace() }, server }
    const [first, second] = await startSiblings(t, 2, { options })
    if (!first || !second) return assert.fail('not started')
    const body = { username: 'admin', password: 'adminpw' }
    const signIn = async ({ multiModel }: SiblingServer) =>
      `bearer ${(await send(multiModel, { method: 'POST', path: '/_open/auth', body })).json.jwt}`
    const old = await signIn(first)
    write('1', `${KEYS}2`)
    const reload = { method: 'POST', path: '/_cardea/api/secrets/reload', as: AS_ADMIN, body: {} }
    const reply = await send(second.multiModel, reload)
    assert.equal(reply.status, 200, reply.body)
    const statuses = async (as: string) =>
      (await Promise.all([first, second].map(({ multiModel }) => send(multiModel, { path: '/_api/version', as })))).map(
        ({ status }) => status,
      )
    assert.deepEqual(await statuses(old), [401, 401])
    assert.deepEqual(await statuses(await signIn(first)), [200, 200])
  })

  it('are the same in a worker that read them before the others reloaded them', async (t) => {
    const folder = makeFolder(t)
    const write = (text: string) => writeFileSync(join(folder, '1'), text, { mode: 0o600 })
    write(`${KEYS}1`)
    const server = { endpoint: 'tcp://127.0.0.1:0', 'jwt-secret-folder': folder, 'jwt-secret-watch': false }
    const shared = { options: { store: { url: await postgres.createPlace() }, server }, router: new Router(2) }
    const [first] = await startSiblings(t, 1, shared)
    if (!first) return assert.fail('not started')
    let reloaded: Promise<unknown> | undefined
    const wrap = (siblings: Siblings): Siblings => ({
      ...siblings,
      answer(topic, handle) {
        if (topic.name !== 'reload server.jwt-secret') return siblings.answer(topic, handle)
        write(`${KEYS}2`)
        reloaded = first.app.operations
          .reload()
          .then(() =>
            send(first.multiModel, { method: 'POST', path: '/_cardea/api/secrets/reload', as: AS_ADMIN, body: {} }),
          )
          .then(() => siblings.answer(topic, handle))
      },
      async tellAll(topic, value) {
        return siblings.tellAll(topic, value)
      },
      async askFirst(topic, value) {
        await reloaded
        return siblings.askFirst(topic, value)
      },
      async askAll(topic, value) {
        await reloaded
        return siblings.askAll(topic, value)
      },
    })
    const [second] = await startSiblings(t, 1, { ...shared, wrap })
    const body = { username: 'admin', password: 'adminpw' }
    const { json } = await send(first.multiModel, { method: 'POST', path: '/_open/auth', body })
    const as = `bearer ${json.jwt}`
    assert.equal((await send(second?.multiModel ?? '', { path: '/_api/version', as })).status, 200)
  })
})
