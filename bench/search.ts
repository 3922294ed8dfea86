// Searches as the console sends them, in a directory of a million users, in both stores. Sizes: users of the directory.
import { join } from 'node:path'
import { nowSeconds, SYSTEM_CLOCK } from '../src/base/clock.ts'
import { SILENT_LOG } from '../src/base/log.ts'
import { createUser } from '../src/directory/users/revisions.ts'
import type { StoredPassword } from '../src/passwords/schemes.ts'
import { openStore } from '../src/store/create-store.ts'
import { startPostgres } from '../test/store/postgres-server.ts'
import { openTestNode } from '../test/support/directory.ts'
import { median } from './figures.ts'
import { withFolder } from './support/folder.ts'
import { renderNumber } from './support/measure.ts'

const SIZES = [1_000_000]
const GOAL_MS = 100
const LIMIT = 50
const PORTION = 1000

const FIRST = ['Anna', 'ben', 'Carla', 'david', 'Élodie', 'farid', 'Grace', 'hiro', 'Ines', 'jan']
const LAST = ['Adler', 'brandt', 'Costa', 'dubois', 'Evans', 'fischer', 'Garcia', 'haas', 'Ito', 'jensen']

/** 100,000 names share each beginning; all users share one role, and a thousand users share each department. */
function toUser(index) {
  const first = FIRST[index % FIRST.length]
  const last = LAST[Math.floor(index / FIRST.length) % LAST.length]
  const password: StoredPassword = {
    scheme: 'pbkdf2',
    prf: 'sha256',
    iterations: 600_000,
    salt: `salt-${index}`,
    hash: 'ab'.repeat(32),
  }
  const user = createUser(`${first}.${last}.${index}`, password)
  const roles = ['reader', `department-${index % 1000}`]
  return { ...user, isActive: index % 10_000 !== 0, document: { ...user.document, roles } }
}

async function fill(url, count) {
  const store = await openStore(url, { log: SILENT_LOG })
  for (let from = 0; from < count; from += PORTION) {
    const indexes = Array.from({ length: Math.min(PORTION, count - from) }, (_, offset) => from + offset)
    const users = indexes.map(toUser)
    await store.importUsers(users.map((record) => ({ expected: 'absent', record })))
    // nearly all signed in: a search for the others must not read them all
    const active = users.filter((_, at) => (from + at) % 10_000 !== 1)
    await store.putSignIns(active.map(({ name }) => ({ name, at: nowSeconds(SYSTEM_CLOCK), peer: '192.0.2.1' })))
  }
  await store.close()
}

const SEARCHES = {
  'one letter': { text: 'a' },
  'a name': { text: 'CARLA.c' },
  'a whole name': { text: 'jan.jensen.999' },
  'a role of every user': { text: 'read' },
  'a role of a thousand': { text: 'department-77' },
  'a part of a name': { text: 'dler.7' },
  'a part of every tenth name': { text: 'arci' },
  nothing: { text: 'zz' },
  'a role, by name': { role: 'department-7', text: 'h' },
  'disabled, by name': { status: 'disabled', text: 'a' },
  'no sign-in for 90 days': { status: 'idle' },
}

async function measure(directory, search, runs) {
  const times: number[] = []
  for (let run = 0; run < runs; run += 1) {
    const startMs = performance.now()
    await directory.searchUsers({ ...search, limit: LIMIT })
    times.push(performance.now() - startMs)
  }
  return { median: median(times), slowest: Math.max(...times) }
}

async function measureStore(url, size, runs) {
  const clean: (() => unknown)[] = []
  await fill(url, size)
  try {
    const { directory } = await openTestNode({ after: (work) => clean.push(work) }, { url, clock: SYSTEM_CLOCK })
    const figures: Awaited<ReturnType<typeof measure>>[] = []
    for (const search of Object.values(SEARCHES)) figures.push(await measure(directory, search, runs))
    return figures
  } finally {
    for (const work of clean) await work()
  }
}

const renderMs = (ms) => `${renderNumber(ms)} ms`

export const bench = {
  title: 'Search',
  about:
    'Searching users by a part of the name or the beginning of a role, a page of 50, on the server: the median, and the slowest, which is\n' +
    `the first. Goal: every search takes at most ${GOAL_MS} ms.`,
  runs: 20,
  run: (runs, [size] = SIZES) =>
    withFolder(async (folder) => {
      const postgres = await startPostgres()
      try {
        const stores = [
          await measureStore(`sqlite:${join(folder, 'users.db')}`, size, runs),
          await measureStore(await postgres.createPlace(), size, runs),
        ]
        return {
          columns: [`among ${renderNumber(size)} users`, 'SQLite', 'slowest', 'PostgreSQL', 'slowest'],
          rows: Object.keys(SEARCHES).map((name, index) => [
            name,
            ...stores.flatMap((figures) => [renderMs(figures[index].median), renderMs(figures[index].slowest)]),
          ]),
          isGoalMet: stores.flat().every(({ slowest }) => slowest <= GOAL_MS),
        }
      } finally {
        await postgres.stop()
      }
    }),
}
