// Kills while writing, again and again, and checks what is left: every acknowledged write must be there, nothing may be
// half there, and beyond what was acknowledged only what was under way.
//   node scripts/crash.mjs [sqlite [kills] | postgres [kills]]     (without arguments both: 200 and 5)
import { spawn } from 'node:child_process'
import { createHash, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import { SILENT_LOG } from '../src/base/log.ts'
import { openStore } from '../src/store/create-store.ts'

const WRITER = new URL('./crash-writer.ts', import.meta.url).pathname
const MAX_OPENING_MS = 250
/** The checker keeps its store open for so many rounds, so that logs grow and others recover beside it. */
const ROUNDS_OPEN = 7

// --- what is killed: the process that writes, or the server it writes to

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

/** Every index against its table, every page of every table. The first raises an error, the second lists. */
const CHECK_INDEXES = `SELECT bt_index_check(oid, true) FROM pg_class
  WHERE relkind = 'i' AND relname LIKE 'cardea%' AND relnamespace = current_schema()::regnamespace`
const CHECK_TABLES = `SELECT relname, msg FROM pg_class, LATERAL verify_heapam(oid)
  WHERE relkind = 'r' AND relname LIKE 'cardea%' AND relnamespace = current_schema()::regnamespace`

async function createPostgresScene() {
  const { startPostgres } = await import('../test/store/postgres-server.ts')
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
  const told = { lines: [], errors: '', begun: undefined, ended: once(writer, 'close') }
  const lines = createInterface({ input: writer.stdout })
  told.begun = Promise.race([once(lines, 'line'), told.ended])
  lines.on('line', (line) => told.lines.push(line))
  writer.stderr.on('data', (text) => {
    told.errors += text
  })
  return { writer, told }
}

/** Gives what was acknowledged until the kill. */
async function killOnce(scene, first) {
  const { writer, told } = startWriter(scene, first)
  // one in five dies while it opens the store, the others in the midst of writing
  if (randomInt(5) > 0) {
    await told.begun
    await pause(randomInt(scene.writingMs))
  } else await pause(randomInt(MAX_OPENING_MS))
  await scene.kill(writer)
  const [code, signal] = await told.ended
  // SIGKILL is our own; 3 is a writer that met a dead server
  if (signal !== 'SIGKILL' && code !== 3) throw new Error(`the writer ended with ${code ?? signal}: ${told.errors}`)
  await scene.restart()
  return told.lines.map(readLine)
}

function readLine(line) {
  const [, kind, key, number, sequence] = /^(\w+) ([\d-]+) (\d+) (\d+)$/.exec(line) ?? []
  if (kind === undefined) throw new Error(`the writer said ${JSON.stringify(line)}`)
  return { kind, key, number: Number(number), sequence: Number(sequence) }
}

// --- what is found afterwards

const membersOf = (found) => Object.fromEntries(found?.record.document?.members ?? [])

/** The number a user holds, 0 where there is none; -1 for half a one. */
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

/** Compares the store with what was acknowledged. Gives the problems, and brings the knowledge up to date. */
async function compare(store, known, lanes) {
  const problems = []
  let ahead = 0
  for (const [thing, { number }] of known) {
    const [kind, key] = thing.split(' ')
    const found = await FINDERS[kind](store, key)
    if (found < 0) problems.push(`${thing} is half there`)
    else if (found < number) problems.push(`${thing}: ${number} was acknowledged, ${found} is there`)
    else if (found > number) ahead += 1
    known.set(thing, { number: found })
  }
  if (ahead > lanes) problems.push(`${ahead} writes beyond what was acknowledged, ${lanes} can have been under way`)
  return problems
}

/** The feed must be in order, end at the sequence, and the count of users must be theirs. */
async function compareFeed(store, acknowledged) {
  const problems = []
  const [sequence, changes] = [await store.sequence(), await store.changesSince(0, 10_000)]
  const sequences = changes.map((change) => change.sequence)
  if (sequences.some((each, i) => i > 0 && each <= sequences[i - 1])) problems.push('the feed is out of order')
  if ((sequences.at(-1) ?? 0) !== sequence) problems.push('the feed does not end at the sequence')
  if (sequence < acknowledged) problems.push(`sequence ${acknowledged} was acknowledged, ${sequence} is there`)
  const users = changes.filter(({ kind, isDeleted }) => kind === 'user' && !isDeleted).length
  if (users !== (await store.countUsers())) problems.push('the count of users is wrong')
  return problems
}

/** Everything there can be, so that a thing whose first write was under way is looked at too. */
function createKnowledge(lanes) {
  const known = new Map()
  for (const kind of Object.keys(FINDERS)) {
    for (let lane = 0; lane < lanes; lane += 1) {
      for (let thing = 0; thing < 4; thing += 1) known.set(`${kind} ${lane}-${thing}`, { number: 0 })
    }
  }
  return known
}

// --- all rounds

/** Kills once, looks at what is left, and gives how much was acknowledged and what is wrong. */
async function runRound(scene, progress, openChecker) {
  const { known } = progress
  const told = await killOnce(scene, progress.first)
  for (const { kind, key, number } of told) known.set(`${kind} ${key}`, { number })
  progress.first = Math.max(progress.first, ...told.map(({ number }) => number + 1)) + 1
  progress.sequence = Math.max(progress.sequence, ...told.map(({ sequence }) => sequence))
  const store = await openChecker()
  const problems = [
    ...(await compare(store, known, scene.lanes)),
    ...(await compareFeed(store, progress.sequence)),
    ...(await scene.checkIntegrity()),
  ]
  return { writes: told.length, problems }
}

async function crash(engine, createScene, kills) {
  const scene = await createScene()
  const progress = { known: createKnowledge(scene.lanes), first: 1, sequence: 0 }
  const total = { writes: 0, problems: [] }
  let checker
  const openChecker = async () => {
    checker ??= await openStore(scene.url, { log: SILENT_LOG })
    return checker
  }
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      const { writes, problems } = await runRound(scene, progress, openChecker)
      total.writes += writes
      total.problems.push(...problems.map((problem) => `kill ${kill}: ${problem}`))
      if (kill % ROUNDS_OPEN === 0) checker = void (await checker.close())
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

function readArguments([engine, kills]) {
  if (engine === undefined) return [...SCENES].map(([name, scene]) => ({ name, ...scene }))
  const scene = SCENES.get(engine)
  const count = Number(kills ?? scene?.kills)
  if (!scene || !Number.isInteger(count) || count < 1) {
    console.error('usage: node scripts/crash.mjs [sqlite [kills] | postgres [kills]]')
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
