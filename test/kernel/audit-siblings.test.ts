// The audit trail of a server with two workers.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type SharedClock, SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import { Router } from '../../src/cluster/router.ts'
import { Audit, type AuditSettings } from '../../src/kernel/audit.ts'
import { SECURITY_EVENTS } from '../../src/modules.ts'
import { makeAuditKey } from '../../src/observe/audit/audit-key.ts'
import { openStore } from '../../src/store/create-store.ts'
import { reportTo } from '../support/audit-reports.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { joinWorker } from '../support/siblings.ts'
import { waitUntil } from '../support/wait.ts'

const NODE = 'n@host'
const DAY_MS = 86_400_000

async function openServer(scope: Scope, fileSize = 1_000_000) {
  const folder = makeFolder(scope)
  const keyFile = join(folder, 'audit.pem')
  writeFileSync(keyFile, makeAuditKey(), { mode: 0o600 })
  const storeUrl = `sqlite:${join(folder, 'cardea.db')}`
  const store = await openStore(storeUrl, { log: SILENT_LOG })
  scope.after(() => store.close())
  const reported: string[] = []
  const events = { rows: SECURITY_EVENTS, ...reportTo(reported), requireRecording: () => {} }
  const settings = (): AuditSettings => ({
    node: { name: NODE },
    audit: {
      'key-file': keyFile,
      'webhook-key-file': '',
      destinations: [`file:${join(folder, 'audit.log')}`],
      'file-size': fileSize,
      'file-count': 9,
      keep: 1,
      'on-failure': 'continue',
    },
  })
  const router = new Router(2)
  let nowMs = SYSTEM_CLOCK.nowMs()
  const nowClock = { nowMs: () => nowMs }
  const clock: SharedClock = { ...nowClock, purge: nowClock }
  const start = async () => {
    const { siblings, member } = await joinWorker(router)
    member.setReady()
    const audit = new Audit({
      settings,
      store,
      storeUrl,
      clock,
      events,
      log: SILENT_LOG,
      isCommand: false,
      siblings,
    })
    return {
      audit,
      /** `kill -9` */
      kill: () => member.leave(),
      record(...subjects: readonly string[]) {
        for (const subject of subjects) {
          nowMs += 1
          audit.append({ time: nowMs, event: 'sign-out', outcome: 'success', node: NODE, fields: { subject } })
        }
      },
    }
  }
  return {
    folder,
    store,
    reported,
    start,
    passDays: (days: number) => {
      nowMs += days * DAY_MS
    },
    /** The lines of all audit files. */
    readFiles: () =>
      readdirSync(folder)
        .filter((name) => name.startsWith('audit.log'))
        .map((name) => readFileSync(join(folder, name), 'utf8')),
  }
}

type Worker = Awaited<ReturnType<Awaited<ReturnType<typeof openServer>>['start']>>

const listSubjects = async ({ audit }: Worker) =>
  (await audit.list({ order: 'oldest', limit: 100 })).map(({ node, fields }) => `${node} ${fields['subject']}`)

test('each process writes its chain, and any of them lists one trail in order', async (t) => {
  const { start, reported } = await openServer(t)
  const [one, two] = [await start(), await start()]
  one.record('ada')
  two.record('bob')
  one.record('eve')
  for (const each of [two, one])
    assert.deepEqual(await listSubjects(each), ['n@host ada', 'n@host/2 bob', 'n@host eve'])
  const { chains, findings } = await two.audit.verify()
  assert.deepEqual(
    [chains.map(({ node, records }) => `${node} ${records}`), findings],
    [['n@host 2', 'n@host/2 1'], []],
  )
  await one.audit.close()
  await two.audit.close()
  assert.deepEqual(reported, ['audit.verified'])
})

test('a process goes on with the chain of one that was killed at its place', async (t) => {
  const { start, reported } = await openServer(t)
  const [one, two] = [await start(), await start()]
  two.record('ada')
  await listSubjects(one)
  two.kill()
  const three = await start()
  three.record('bob')
  assert.deepEqual(await listSubjects(one), ['n@host/2 ada', 'n@host/2 bob'])
  assert.deepEqual((await one.audit.verify()).findings, [])
  await one.audit.close()
  await three.audit.close()
  assert.deepEqual(reported, ['audit.verified'])
})

test('the first process writes and rotates the file of all, line by line', async (t) => {
  const { start, readFiles, reported } = await openServer(t, 1000)
  const [one, two] = [await start(), await start()]
  const names = Array.from({ length: 8 }, (_, number) => `user-${number}`)
  for (const name of names) {
    one.record(`${name}-a`)
    two.record(`${name}-b`)
    // more lines than fit into a file are written to one if they wait together
    await waitUntil(() =>
      [one, two].every(({ audit }) => audit.listDestinations().every(({ waiting }) => waiting === 0)),
    )
  }
  one.kill()
  two.record('last')
  await two.audit.close()
  await one.audit.close()
  const files = readFiles()
  assert.ok(files.length > 2)
  assert.ok(files.every((text) => Buffer.byteLength(text) <= 1000))
  const subjects = files.flatMap((text) => text.trimEnd().split('\n')).map((line) => JSON.parse(line).subject)
  const expected = [...names.flatMap((name) => [`${name}-a`, `${name}-b`]), 'last']
  // what the killed process was writing may be there twice
  assert.deepEqual([...new Set(subjects)].toSorted(), expected.toSorted())
  assert.deepEqual(reported, [])
})

test('a quiet chain stays while its process runs, and is deleted when none has written it for long', async (t) => {
  const { start, store, folder, passDays, reported } = await openServer(t)
  const [one, two] = [await start(), await start()]
  one.record('ada')
  two.record('bob')
  await listSubjects(one)
  passDays(2)
  const purge = async ({ audit }: Worker) => {
    audit.startPurging()
    await audit.close()
  }
  await purge(two)
  two.kill()
  await purge(one)
  const chain = await store.findAuditChain('n@host/2')
  assert.equal(chain?.purged.sequence, 1)
  one.kill()
  passDays(2)
  await purge(await start())
  assert.equal(await store.findAuditChain('n@host/2'), undefined)
  assert.equal(readdirSync(folder).filter((name) => name.endsWith('.checkpoint')).length, 1)
  assert.deepEqual(reported, [])
})
