// What happens to the store while nodes are used, one function for each form. Each returns what it has found.
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { SILENT_LOG } from '../../../src/base/log.ts'
import { readStore } from '../../../src/store/backup/engines.ts'
import { restoreBackup } from '../../../src/store/backup/restore-backup.ts'
import { writeBackup } from '../../../src/store/backup/write-backup.ts'
import { withRetries } from '../../../src/store/retry.ts'
import { type PostgresServer, type Standby, startPostgres } from '../../store/postgres-server.ts'
import { GRACE_MS, History, type Unexplained } from '../../support/history.ts'
import { makeFolder, type Scope } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'
import { waitUntil } from '../../support/wait.ts'
import { Load, type LoadedNode, listLost } from './load.ts'

export interface Given {
  /** How long nodes are used before and after. */
  readonly ms: number
  /** What the clock of all nodes jumps by at the same time. */
  readonly clockMs?: number
}

export interface Outcome {
  readonly changes: number
  readonly decisions: number
  /** Changes that were acknowledged and are not in the store. */
  readonly lost: number
  /** Those that were sent when the store could be used again. */
  readonly lostLater: number
  readonly unexplained: readonly Unexplained[]
  readonly defects: readonly string[]
  /** After how many milliseconds the last node acknowledged a change again. */
  readonly servedAfterMs: number
}

const CLIENTS = 8

/** A node is never behind by more than a second, or decides nothing. */
const OPTIONS = {
  chttpd_auth: { timeout: 7200 },
  chttpd_auth_lockout: { mode: 'off' },
  auth: { 'account-failures': 0, 'peer-failures': 0 },
}

async function startNodes(scope: Scope, urls: readonly string[]): Promise<readonly LoadedNode[]> {
  const nodes: LoadedNode[] = []
  for (const [index, url] of urls.entries()) {
    const store = { url, 'max-staleness': 1, 'max-clock-skew': 86_400 }
    nodes.push({ name: `node ${index + 1}`, server: await startServer(scope, OPTIONS, { store }) })
  }
  return nodes
}

/** Moves the clock of this process. */
function shiftClock(ms = 0): void {
  if (ms === 0) return
  const { now } = Date
  Date.now = () => now() + ms
}

const SystemNow = Date.now

/** Which users there are, in the store itself. */
const readTruth = (rows: readonly Record<string, unknown>[]): ReadonlyMap<string, boolean> =>
  new Map(rows.map((row) => [String(row['name']), Number(row['is_live']) === 1]))

const USERS = 'SELECT name, is_live FROM cardea_users'

/** From now on, what the store has is the state of every user. */
function noteTruth(history: History, truth: ReadonlyMap<string, boolean>, sentMs: number): void {
  for (const subject of history.subjects.filter((each) => !isOwn(each)))
    history.change({ subject, isValid: truth.get(subject) ?? false, sentMs, acknowledgedMs: performance.now() })
}

interface Scene {
  readonly nodes: readonly LoadedNode[]
  readonly clockMs: number | undefined
  readonly ms: number
  /** Changes the store while it is used. Returns when it can be used again, or before. */
  breakStore(): Promise<void>
  /** The users in the store, when `breakStore` has ended. */
  findTruth(): Promise<ReadonlyMap<string, boolean>>
}

const LOOK_MS = 50

/** How late the event loop of this process was at most. On a busy machine nodes learn of changes so much later. */
function watchLateness() {
  let [lastMs, lateMs] = [performance.now(), 0]
  const look = setInterval(() => {
    const nowMs = performance.now()
    lateMs = Math.max(lateMs, nowMs - lastMs - LOOK_MS)
    lastMs = nowMs
  }, LOOK_MS)
  return { lateMs: () => lateMs, stop: () => clearInterval(look) }
}

/** Uses the nodes, breaks the store meanwhile, uses them on, and checks what they have decided. */
async function run({ nodes, ms, clockMs, breakStore, findTruth }: Scene): Promise<Outcome> {
  const history = new History()
  const load = new Load(history, nodes, CLIENTS)
  const lateness = watchLateness()
  try {
    await pause(ms)
    const brokenMs = performance.now()
    shiftClock(clockMs)
    await breakStore()
    const backMs = performance.now()
    const serving = Promise.all(nodes.map((node) => measureService(load, node)))
    const lost = await load.holdWrites(async () => {
      const truth = await findTruth()
      const found = listLost(history, truth).filter(({ subject }) => !isOwn(subject))
      noteTruth(history, truth, brokenMs)
      return found
    })
    const servedAfterMs = Math.max(...(await serving)) - backMs
    await pause(ms)
    await load.stop()
    // by then every node must know everything
    await pause(GRACE_MS + 100 + 2 * lateness.lateMs())
    await load.useAll()
    const changes = history.subjects.reduce((sum, subject) => sum + history.changesOf(subject).length - 2, 0)
    return {
      changes,
      decisions: history.decisions.length,
      lost: lost.length,
      lostLater: lost.filter(({ sentMs }) => sentMs > backMs).length,
      unexplained: history.check(GRACE_MS + 2 * lateness.lateMs()),
      defects: load.defects,
      servedAfterMs,
    }
  } finally {
    lateness.stop()
    await load.stop()
    Date.now = SystemNow
  }
}

/** Users that show when a node can be used again: they are changed while the store is read. */
const AGAIN = 'again-'
const isOwn = (subject: string): boolean => subject.startsWith(AGAIN)

/** When this node has acknowledged a change. */
async function measureService(load: Load, node: LoadedNode): Promise<number> {
  for (let number = 0; ; number += 1) {
    const subject = `${AGAIN}${node.name.replaceAll(' ', '-')}-${number}`
    if (await load.write(subject, true, node)) return performance.now()
    await pause(50)
  }
}

interface Pair {
  readonly primary: PostgresServer
  readonly standby: Standby
  readonly urls: readonly [primary: string, standby: string]
  /** The URL that names both. */
  readonly both: string
}

const toPair = (first: string, second: string): string =>
  `${first.replace(/@([^/]+)/, `@$1,${new URL(second).host}`)}&target_session_attrs=read-write`

/** A primary with a standby, and an empty place in both. */
async function startPair(scope: Scope, isSynchronous: boolean): Promise<Pair> {
  const primary = await startPostgres({ hasStandbys: true })
  const standby = await primary.startStandby()
  scope.after(standby.stop)
  scope.after(primary.stop)
  const place = await primary.createPlace()
  const other = place.replace(/@[^/]+/, `@${new URL(standby.addressOf('postgres')).host}`)
  if (isSynchronous) {
    await primary.execute(place, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await primary.execute(place, 'SELECT pg_reload_conf()')
    await waitUntil(async () => (await isConfirmed(primary, place)) === true)
  }
  return { primary, standby, urls: [place, other], both: toPair(place, other) }
}

const isConfirmed = async (primary: PostgresServer, url: string) =>
  (await primary.execute(url, `SELECT bool_or(sync_state = 'sync') AS it FROM pg_stat_replication`))[0]?.['it']

async function killPrimary(scope: Scope, { ms, clockMs }: Given, isSynchronous: boolean): Promise<Outcome> {
  const { primary, standby, urls, both } = await startPair(scope, isSynchronous)
  const nodes = await startNodes(scope, [both, both])
  return run({
    nodes,
    ms,
    clockMs,
    async breakStore() {
      if (!isSynchronous) {
        await standby.detach()
        // these writes are lost
        await pause(ms / 2)
      }
      await primary.crash()
      await standby.promote()
    },
    findTruth: async () => readTruth(await standby.execute(urls[1], USERS)),
  })
}

/** The standby is promoted while the primary still runs, and nodes reach both. */
async function splitPrimaries(scope: Scope, { ms, clockMs }: Given): Promise<Outcome> {
  const { standby, urls, both } = await startPair(scope, false)
  const nodes = await startNodes(scope, [both, both])
  return run({
    nodes,
    ms,
    clockMs,
    async breakStore() {
      await standby.detach()
      await standby.promote()
      // within this time every node leaves the old primary
      await pause(1000)
    },
    findTruth: async () => readTruth(await standby.execute(urls[1], USERS)),
  })
}

async function restore(scope: Scope, { ms, clockMs }: Given): Promise<Outcome> {
  const server = await startPostgres()
  scope.after(server.stop)
  const url = await server.createPlace()
  const nodes = await startNodes(scope, [url, url])
  const file = join(makeFolder(scope), 'store.backup')
  return run({
    nodes,
    ms,
    clockMs,
    async breakStore() {
      await readStore(url, (snapshot) => writeBackup(snapshot, file, { nowMs: SystemNow() }))
      await pause(ms / 2)
      // nodes that run may be in its way
      const rules = { attempts: 20, firstDelayMs: 100, maxDelayMs: 500, isRetryable: () => true }
      await withRetries(rules, () => restoreBackup(file, { url, mayReplace: true, log: SILENT_LOG }))
    },
    findTruth: async () => readTruth(await server.execute(url, USERS)),
  })
}

/** An earlier copy of the file takes its place. The server cannot use it until it is started again. */
async function putFileBack(scope: Scope, { ms, clockMs }: Given): Promise<Outcome> {
  const folder = makeFolder(scope)
  const [file, copy] = [join(folder, 'store.db'), join(folder, 'copy.db')]
  const url = `sqlite:${file}`
  const [first] = await startNodes(scope, [url])
  if (!first) throw new Error('no node was started')
  let { server } = first
  const read = (path: string, sql: string) => {
    const database = new DatabaseSync(path, { timeout: 5000 })
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  }
  return run({
    nodes: [
      {
        name: first.name,
        get server() {
          return server
        },
      },
    ],
    ms,
    clockMs,
    async breakStore() {
      read(file, `VACUUM INTO '${copy}'`)
      await pause(ms / 2)
      copyFileSync(copy, `${copy}-again`)
      renameSync(`${copy}-again`, file)
      // as long as it runs, it does not use the other file
      await pause(ms / 2)
      await server.cardea.close()
      for (const ending of ['-wal', '-shm']) rmSync(`${file}${ending}`, { force: true })
      const [again] = await startNodes(scope, [url])
      if (again) server = again.server
    },
    findTruth: async () => readTruth(read(copy, USERS)),
  })
}

export const FORMS = {
  'synchronous standby, primary killed': (scope: Scope, given: Given) => killPrimary(scope, given, true),
  'asynchronous standby, primary killed': (scope: Scope, given: Given) => killPrimary(scope, given, false),
  'two primaries': splitPrimaries,
  'backup restored': restore,
  'SQLite file put back': putFileBack,
} as const

export type FormName = keyof typeof FORMS
