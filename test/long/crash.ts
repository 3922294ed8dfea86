// Kills the writer or its database again and again, and checks the store after each kill: every acknowledged write must be
// there, none may be partly there, and beyond the acknowledged ones only those that were under way.
//   npm run test:long -- crash [sqlite [kills] | postgres [kills]]     (without arguments both: 200 and 5)
import { spawn } from 'node:child_process'
import { createHash, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { openStore } from '../../src/store/create-store.ts'
import { lastSequence, listChanges } from '../contract/store-values.ts'

const WRITER = new URL('./crash-writer.ts', import.meta.url).pathname
const MAX_OPENING_MS = 250
/** The checker keeps its store open for this many rounds, so that the write-ahead log grows. */
const ROUNDS_OPEN = 7

// --- scenes: what is killed is the process that writes, or the server it writes to

async function createSqliteScene() {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-crash-'))
  const path = join(folder, 'store.db')
  return {
    url: `sqlite:${path}`,
    lanes: 1,
    writingMs: 60,
    kill: async (writer) => void writer.kill('SIGKILL'),
    restart: async () => {},
    checkIntegrity: async () => {
      const database = new DatabaseSync(path, { timeout: 5000 })
      const rows = database.prepare('PRAGMA integrity_check').all()
      database.close()
      return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok')
    },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Checks every index against its table, and every page of every table. The first raises an error, the second lists. */
const CHECK_INDEXES = `SELECT bt_index_check(oid, true) FROM pg_class
  WHERE relkind = 'i' AND relname LIKE 'cardea%' AND relnamespace = current_schema()::regnamespace`
const CHECK_TABLES = `SELECT relname, msg FROM pg_class, LATERAL verify_heapam(oid)
  WHERE relkind = 'r' AND relname LIKE 'cardea%' AND relnamespace = current_schema()::regnamespace`

async function createPostgresScene() {
  const { startPostgres } = await import('../store/postgres-server.ts')
  const server = await startPostgres({ isDurable: true })
  const url = await server.createPlace()
  return {
    url,
    lanes: 4,
    writingMs: 400,
    kill: () => server.crash(),
    restart: () => server.restart(),
    checkIntegrity: async () => {
      await server.execute(url, 'CREATE EXTENSION IF NOT EXISTS amcheck')
      const failures = await server.execute(url, CHECK_INDEXES).then(
        () => [],
        (error) => [error.message],
      )
      const tables = await server.execute(url, CHECK_TABLES)
      return [...failures, ...tables.map(({ relname, msg }) => `${relname}: ${msg}`)]
    },
    remove: () => server.stop(),
  }
}

// --- one round

function startWriter(scene, first) {
  const writer = spawn(process.execPath, [WRITER, scene.url, String(first), String(scene.lanes)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines = createInterface({ input: writer.stdout })
  const ended = once(writer, 'close')
  const firstLine = Promise.race([once(lines, 'line'), ended])
  const output = { lines: [] as string[], errors: '', firstLine, ended }
  lines.on('line', (line) => output.lines.push(line))
  writer.stderr.on('data', (text) => {
    output.errors += text
  })
  return { writer, output }
}

/** Returns the writes that were acknowledged before the kill. */
async function killOnce(scene, { first, round }) {
  const { writer, output } = startWriter(scene, first)
  // each fifth is killed while it opens the store, the others while they write
  if (round % 5 === 0) await pause(randomInt(MAX_OPENING_MS))
  else {
    await output.firstLine
    await pause(randomInt(scene.writingMs))
  }
  await scene.kill(writer)
  const [code, signal] = await output.ended
  // SIGKILL is ours; a writer whose server was killed ends with 3
  if (signal !== 'SIGKILL' && code !== 3) throw new Error(`the writer ended with ${code ?? signal}: ${output.errors}`)
  await scene.restart()
  return output.lines.map(readLine)
}

function readLine(line) {
  const [, kind, key, number, sequence] = /^(\w+) ([\d-]+) (\d+) (\d+)$/.exec(line) ?? []
  if (kind === undefined) throw new Error(`unexpected line of the writer: ${JSON.stringify(line)}`)
  return { kind, key, number: Number(number), sequence: Number(sequence) }
}

// --- the store after a kill

const membersOf = (found) => Object.fromEntries(found?.record.document?.members ?? [])

/** The number in a user's record: 0 if there is no record, -1 if it is damaged. */
async function findNumber(store, name) {
  const found = await store.findUser(name)
  if (!found) return 0
  const { number, padding, check } = membersOf(found)
  return createHash('sha256').update(`${name} ${number} ${padding}`).digest('hex') === check ? number : -1
}

const FINDERS = {
  user: (store, key) => findNumber(store, `user-${key}`),
  pair: async (store, key) => {
    const [left, right] = await Promise.all(['left', 'right'].map((side) => findNumber(store, `${side}-${key}`)))
    return left === right ? left : -1
  },
  session: async (store, key) => {
    const ended = await store.listEndedSessions(0, 10_000)
    return ended.find(({ id }) => id === `session-${key}`)?.expiresAt ?? 0
  },
  setting: async (store, key) => {
    const { settings } = await store.listSettings()
    return Number(settings.find((setting) => setting.key === key)?.text ?? 0)
  },
}

/** Compares the store with the acknowledged writes. Returns the problems, and updates `known`. */
async function compare(store, known, lanes) {
  const problems: string[] = []
  let ahead = 0
  for (const [record, { number }] of known) {
    const [kind, key] = record.split(' ')
    const found = await FINDERS[kind](store, key)
    if (found < 0) problems.push(`${record} is damaged`)
    else if (found < number) problems.push(`${record}: ${number} was acknowledged, ${found} is stored`)
    else if (found > number) ahead += 1
    known.set(record, { number: found })
  }
  if (ahead > lanes) problems.push(`${ahead} writes were not acknowledged, but at most ${lanes} were under way`)
  return problems
}

/** The feed must be in order and end at the sequence, and the count of users must be right. */
async function compareFeed(store, acknowledged) {
  const problems: string[] = []
  const [sequence, changes] = [await lastSequence(store), await listChanges(store, 0, 10_000)]
  const sequences = changes.map((change) => change.sequence)
  if (sequences.some((each, i) => i > 0 && each <= sequences[i - 1])) problems.push('the feed is out of order')
  if ((sequences.at(-1) ?? 0) !== sequence) problems.push('the feed does not end at the sequence')
  if (sequence < acknowledged) problems.push(`sequence ${acknowledged} was acknowledged, ${sequence} is stored`)
  const users = changes.filter(({ kind, isDeleted }) => kind === 'user' && !isDeleted).length
  if (users !== (await store.countUsers())) problems.push('the count of users is wrong')
  return problems
}

/** Every record the writer may write, so that one whose first write was under way is checked too. */
function listRecords(lanes) {
  const known = new Map()
  for (const kind of Object.keys(FINDERS)) {
    for (let lane = 0; lane < lanes; lane += 1) {
      for (let item = 0; item < 4; item += 1) known.set(`${kind} ${lane}-${item}`, { number: 0 })
    }
  }
  return known
}

// --- all rounds

/** Kills once and checks the store. Returns the number of acknowledged writes, and the problems. */
async function runRound(scene, progress, openChecker) {
  const { known } = progress
  progress.round += 1
  const acknowledged = await killOnce(scene, progress)
  for (const { kind, key, number } of acknowledged) known.set(`${kind} ${key}`, { number })
  progress.first = Math.max(progress.first, ...acknowledged.map(({ number }) => number + 1)) + 1
  progress.sequence = Math.max(progress.sequence, ...acknowledged.map(({ sequence }) => sequence))
  const store = await openChecker()
  const problems = [
    ...(await compare(store, known, scene.lanes)),
    ...(await compareFeed(store, progress.sequence)),
    ...(await scene.checkIntegrity()),
  ]
  return { writes: acknowledged.length, problems }
}

async function crash(engine, createScene, kills) {
  const scene = await createScene()
  const progress = { known: listRecords(scene.lanes), first: 1, sequence: 0, round: 0 }
  const total = { writes: 0, problems: [] as string[] }
  let checker: Store | undefined
  const openChecker = async () => {
    checker ??= await openStore(scene.url, { log: SILENT_LOG })
    return checker
  }
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      const { writes, problems } = await runRound(scene, progress, openChecker)
      total.writes += writes
      total.problems.push(...problems.map((problem) => `kill ${kill}: ${problem}`))
      if (kill % ROUNDS_OPEN === 0) checker = void (await checker?.close())
      if (kill % 10 === 0) console.log(`${engine}: ${kill} of ${kills} kills, ${total.problems.length} problems`)
    }
  } finally {
    await checker?.close()
    await scene.remove()
  }
  return total
}

const SCENES = new Map([
  ['sqlite', { createScene: createSqliteScene, kills: 200 }],
  ['postgres', { createScene: createPostgresScene, kills: 5 }],
])

function readArguments([engine, kills]: string[]) {
  if (engine === undefined) return [...SCENES].map(([name, scene]) => ({ name, ...scene }))
  const scene = SCENES.get(engine)
  const count = Number(kills ?? scene?.kills)
  if (!scene || !Number.isInteger(count) || count < 1) {
    console.error('usage: npm run test:long -- crash [sqlite [kills] | postgres [kills]]')
    process.exit(2)
  }
  return [{ name: engine, ...scene, kills: count }]
}

for (const { name, createScene, kills } of readArguments(process.argv.slice(2))) {
  const { writes, problems } = await crash(name, createScene, kills)
  for (const problem of problems) console.error(problem)
  console.log(
    `${name}: ${kills} kills, ${writes} acknowledged writes, ${problems.length === 0 ? 'nothing lost' : 'LOSS'}`,
  )
  if (problems.length > 0 || writes === 0) process.exitCode = 1
}
