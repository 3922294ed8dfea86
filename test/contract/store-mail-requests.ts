import assert from 'node:assert/strict'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { createMailJobs } from '../../src/modules/mail/jobs.ts'
import { MAIL_OPERATIONS } from '../../src/modules/mail/operations.ts'
import { addRequest } from '../../src/modules/mail/requests.ts'
import type { MailSettings } from '../../src/modules/mail/settings.ts'
import type { Engine, StoreSteps } from '../../src/store/engine.ts'
import type { StoreTests } from './store.ts'
import { isRefusal, newUser } from './store-values.ts'

const toSettings = (mailbox: number, client: number): MailSettings => ({
  mail: {
    url: 'smtp://localhost',
    password: '',
    tls: 'required',
    from: 'a@example.com',
    'reply-to': '',
    templates: '',
    'sign-up': 'off',
    'sign-in': 'off',
    'invitation-days': 7,
    'mailbox-requests-per-hour': mailbox,
    'client-requests-per-hour': client,
  },
  console: { name: '', 'public-url': 'https://db.example.com' },
})

const toRequest = (address: string, peer: string | undefined = '192.0.2.1', now = 1000) => ({
  address,
  peer,
  now,
  job: { kind: 'mail.test', key: address, payload: '{}' },
})

/** Adds the names of all statements to `done`. */
const recordStatements = (engine: Engine, done: string[]): Engine => ({
  ...engine,
  ask(step) {
    done.push(step.statement.name)
    return engine.ask(step)
  },
  transact<T>(begin: () => StoreSteps<T>) {
    const before = done.length
    return engine.transact(function* () {
      // it may be begun again
      done.length = before
      const steps = begin()
      let step = steps.next()
      while (!step.done) {
        done.push(step.value.statement.name)
        step = steps.next(yield step.value)
      }
      return step.value
    })
  },
})

const isLimited = isRefusal('too_many_requests')

export const MAIL_REQUEST_TESTS: StoreTests = {
  async 'requests for a mailbox are counted by every node, and each adds a job'({ store, openAnother }) {
    const other = await openAnother()
    const settings = toSettings(2, 0)
    await addRequest(store.statements, toRequest('ann@example.com'), settings)
    await addRequest(other.statements, toRequest('a.nn+x@example.com', '192.0.2.2'), settings)
    await assert.rejects(addRequest(store.statements, toRequest('ann@example.com'), settings), isLimited)
    await addRequest(store.statements, toRequest('bob@example.com'), settings)
    const [count] = await store.countJobs()
    assert.equal(count?.count, 3)
  },

  async 'requests of a client are counted for all mailboxes, and those of the program are not'({ store }) {
    const settings = toSettings(0, 2)
    for (const name of ['a', 'b']) await addRequest(store.statements, toRequest(`${name}@example.com`), settings)
    await assert.rejects(addRequest(store.statements, toRequest('c@example.com'), settings), isLimited)
    await addRequest(store.statements, toRequest('c@example.com', '192.0.2.2'), settings)
    await addRequest(store.statements, { ...toRequest('c@example.com'), peer: undefined }, settings)
  },

  async 'a refused request counts for no limit'({ store }) {
    const settings = toSettings(1, 1)
    await addRequest(store.statements, toRequest('a@example.com'), settings)
    await assert.rejects(addRequest(store.statements, toRequest('b@example.com'), settings), isLimited)
    await addRequest(store.statements, toRequest('b@example.com', '192.0.2.2'), settings)
  },

  async 'the hour begins with the first request, and counts from the beginning after it'({ store }) {
    const settings = toSettings(1, 0)
    await addRequest(store.statements, toRequest('a@example.com', undefined, 1000), settings)
    await assert.rejects(addRequest(store.statements, toRequest('a@example.com', undefined, 4599), settings), isLimited)
    await addRequest(store.statements, toRequest('a@example.com', undefined, 4600), settings)
  },

  async 'many requests for a mailbox at the same time, of many clients, do not pass the limit'({ store, openAnother }) {
    const stores = [store, await openAnother()]
    const settings = toSettings(3, 10)
    const asked = Array.from({ length: 24 }, (_, index) => {
      const request = toRequest(`a+${index % 5}@example.com`, `192.0.2.${index}`)
      return addRequest(stores[index % 2]?.statements ?? assert.fail(), request, settings)
    })
    const results = await Promise.allSettled(asked)
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 3)
    const [count] = await store.countJobs()
    assert.equal(count?.count, 3)
  },

  async 'an invitation that was withdrawn is not sent, also if a later job has its number'({ store }) {
    const invitation = { address: 'ada@example.com' }
    const job = {
      kind: 'mail.invitation',
      key: 'k',
      payload: JSON.stringify({ address: 'ada@example.com', invitation }),
    }
    const core = {
      kernel: { store, clock: { ...SYSTEM_CLOCK, purge: SYSTEM_CLOCK }, events: { record: () => assert.fail() } },
      // nothing listens there
      config: { get: () => ({ ...toSettings(0, 0), mail: { ...toSettings(0, 0).mail, url: 'smtp://127.0.0.1:1' } }) },
      directory: { findAddressOwner: async () => undefined },
    }
    const run = (id: number) =>
      createMailJobs(core as never)['mail.invitation']?.run(
        { ...job, id, attempts: 1, begunMs: 0 },
        AbortSignal.abort(),
      )
    await store.addJobs([{ ...job, kind: 'mail.other' }, { ...job, key: 'l' }, { ...job, payload: '{}' }, job])
    for (const id of [1, 2, 3]) await run(id)
    await assert.rejects(async () => run(4))
  },

  async 'a request does the same work whether the address has an account or not'({ store }) {
    const address = { text: 'ada@example.com', verifiedAt: 1 }
    await store.writeUser({ expected: 'absent', record: { ...newUser('ada'), address } })
    const record = async (asked: string): Promise<readonly string[]> => {
      const done: string[] = []
      // without a directory: it looks for no user
      const deps = {
        statements: recordStatements(store.statements, done),
        clock: SYSTEM_CLOCK,
        options: () => toSettings(3, 10),
      }
      const call = { caller: { peer: '192.0.2.1' }, body: { address: asked } }
      const { run } = MAIL_OPERATIONS['account.request-password-reset']
      assert.deepEqual(await run(deps as never, call as never), { requested: true })
      return done
    }
    const [known, unknown] = [await record('ada@example.com'), await record('eve@example.com')]
    assert.deepEqual(known, unknown)
    assert.ok(known.includes('putJob'), known.join(' '))
    assert.deepEqual(
      (await store.countJobs()).map(({ kind, count }) => [kind, count]),
      [['mail.password-reset', 2]],
    )
  },
}
