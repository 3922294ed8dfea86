// Processes that are killed between a job of the store and its end.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { it } from 'node:test'
import { startMailServer, tokenOf } from '../support/mail.ts'
import { FREE_PORTS, start } from '../support/process.ts'
import { createAsk } from '../support/request.ts'
import { waitUntil } from '../support/wait.ts'
import { addUser, api, listWorkers, makeConfiguration, readMetric, serve } from '../support/workers.ts'

const DONE = 'cardea_job_runs_total\\{kind="mail.password-reset",outcome="done"\\}'

/** Of the only job. */
function findDueMs(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return Number(database.prepare('SELECT due_ms FROM cardea_jobs').get()?.['due_ms'])
  } finally {
    database.close()
  }
}

it('what a killed worker was doing is done by another one at once', async (t) => {
  let begun = 0
  const stalled = await startMailServer(t, {
    closeTimeout: 1,
    // never replies to the first message
    onData(stream, _session, done) {
      begun += 1
      const isFirst = begun === 1
      stream.resume().on('end', () => {
        if (!isFirst) done()
      })
    },
  })
  const { folder } = await makeConfiguration(t)
  const mail = ['--mail.url', stalled.url, '--mail.from', 'no-reply@shop.example']
  const doors = await serve(t, folder, ...mail, '--console.public-url', 'https://db.example.com')
  await waitUntil(async () => (await readMetric(doors.document, 'cardea_workers')) === 2)
  await addUser(doors, 'ada')
  await api(doors, 'PUT', '/users/ada/address', { address: 'ada@example.com' })
  const [first = 0, second = 0] = listWorkers(doors)
  assert.ok(first > 0 && second > 0)
  const asked = await createAsk(doors.document)('POST', '/_cardea/account/password-reset', {
    body: { address: 'ada@example.com' },
  })
  assert.equal(asked.status, 200, asked.body)
  await waitUntil(() => begun === 1)
  // until then the job is that of the worker
  const claimedUntilMs = findDueMs(join(folder, 'store.db'))
  process.kill(first, 'SIGKILL')
  await waitUntil(async () => (await readMetric(doors.document, DONE)) === 1)
  assert.equal(begun, 2)
  assert.ok(Date.now() < claimedUntilMs)
})

/**
 * A message is sent twice only if the mail server had received all of it before the process was killed: Cardea cannot
 * know then whether the mail server has accepted it.
 */
const KILLED: Readonly<Record<string, 'onConnect' | 'onMailFrom' | 'onData'>> = {
  'before the mail server greets': 'onConnect',
  'before the mail server has the text': 'onMailFrom',
  'after the mail server has the whole text': 'onData',
}

for (const [name, held] of Object.entries(KILLED))
  it(`a message is not lost if the only process is killed ${name}`, async (t) => {
    let isHeld = true
    let begun = 0
    const texts: string[] = []
    const hold = (done: () => void) => {
      begun += 1
      if (!isHeld) done()
    }
    const mailServer = await startMailServer(t, {
      closeTimeout: 1,
      onConnect: (_session, done) => (held === 'onConnect' ? hold(done) : done()),
      onMailFrom: (_address, _session, done) => (held === 'onMailFrom' ? hold(done) : done()),
      onData(stream, _session, done) {
        text(stream).then((whole) => {
          texts.push(whole)
          if (held === 'onData') hold(done)
          else done()
        })
      },
    })
    const { folder } = await makeConfiguration(t)
    const store = ['--store.url', `sqlite:${join(folder, 'store.db')}`]
    const mail = ['--mail.url', mailServer.url, '--mail.from', 'no-reply@shop.example']
    const args = [...store, ...mail, '--console.public-url', 'https://db.example.com']
    const open = async () => {
      const cardea = start(t, ['serve', ...FREE_PORTS, '--config', join(folder, 'a.ini'), ...args])
      return { cardea, folder, ...(await cardea.doors()) }
    }
    const first = await open()
    await addUser(first, 'ada')
    await api(first, 'PUT', '/users/ada/address', { address: 'ada@example.com' })
    const path = '/_cardea/account/password-reset'
    const asked = await createAsk(first.document)('POST', path, { body: { address: 'ada@example.com' } })
    assert.equal(asked.status, 200, asked.body)
    await waitUntil(() => begun === 1)
    first.cardea.child.kill('SIGKILL')
    await first.cardea.ended
    isHeld = false
    const second = await open()
    await waitUntil(async () => (await readMetric(second.document, DONE)) === 1)
    assert.equal(begun, 2)
    assert.equal(texts.length, held === 'onData' ? 2 : 1)
    // the last link is the one that works
    const token = tokenOf({ text: texts.at(-1)?.replaceAll('\r', '').replaceAll('=\n', '') ?? '' })
    const body = { token, password: 'another password' }
    const used = await createAsk(second.document)('POST', `${path}/confirm`, { body })
    assert.equal(used.status, 200, used.body)
  })
