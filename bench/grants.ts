// CPU time that `document.grants = enforce` adds to a forwarded request, in one process as in gateway-handler.ts. Sizes:
// requests of a round, rounds of warm-up.
import { createRequire } from 'node:module'
import { createCardea } from '../src/index.ts'
import { median } from './figures.ts'
import { IdleSocket, respondAtOnce, SILENT, serve, toOptions } from './gateway-handler.ts'
import { ADMIN, withFolder } from './support/folder.ts'

const CONNECTIONS = 32
const GOAL_US = 5
const USER = { name: 'ada', password: 'the-password-of-ada' }
const GRANTS = { '*': 'none', db: 'ro', stock: 'rw', 'a/b': 'rw' } as const
const PATHS = { 'a document': '/db/doc', 'a view': '/db/_design/app/_view/by_name?limit=10' }

/** One server whose option is changed: of two in one process the second is some microseconds slower. */
async function open(work) {
  return withFolder(async (folder) => {
    const cardea = await createCardea({ log: SILENT, options: toOptions(folder) })
    try {
      await cardea.users.create({ ...USER, grants: GRANTS })
      const { document } = await cardea.listen()
      return await work(cardea.handle, (value) => setGrants(document[0], value))
    } finally {
      await cardea.close()
    }
  })
}

async function setGrants(url, value) {
  const Authorization = toBasic(ADMIN)
  const request = { method: 'PUT', headers: { Authorization }, body: JSON.stringify(value) }
  const { status } = await fetch(new URL('/_node/_local/_config/document/grants', url), request)
  if (status !== 200) throw new Error(`document.grants cannot be set: ${status}`)
}

const toBasic = ({ name, password }) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`

const headers = ['Authorization', toBasic(USER)]

/** Microseconds of CPU for one request. */
async function measure(contestant, sockets, requests) {
  const before = process.cpuUsage()
  for (let sent = 0; sent < requests; sent += sockets.length) {
    const statuses = await Promise.all(sockets.map((socket) => serve(contestant, socket)))
    if (statuses.some((status) => status !== 200)) throw new Error(`${contestant.path}: ${statuses.join(' ')}`)
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / requests
}

async function compare(contestant, set, rounds, { requests, warm }) {
  const sockets = Array.from({ length: CONNECTIONS }, () => new IdleSocket())
  const values = { off: [] as number[], enforce: [] as number[] }
  for (let round = -warm; round < rounds; round += 1)
    // each is first in half of the rounds
    for (const value of round % 2 === 0 ? ['off', 'enforce'] : ['enforce', 'off']) {
      await set(value)
      // caches and optimised code that the change of the option ended are made again
      await measure(contestant, sockets, requests / 2)
      const us = await measure(contestant, sockets, requests)
      if (round >= 0) values[value].push(us)
    }
  const more = values.enforce.map((us, index) => us - (values.off[index] ?? 0))
  return { off: median(values.off), more: median(more) }
}

async function withPool(work) {
  const { prototype } = createRequire(import.meta.url)('undici').Pool
  const { dispatch } = prototype
  prototype.dispatch = respondAtOnce
  try {
    return await work()
  } finally {
    prototype.dispatch = dispatch
  }
}

export const bench = {
  title: 'Grants at the document door',
  about:
    'CPU time of a forwarded request of a user with Basic, without sockets and without undici, and what\n' +
    `\`document.grants = enforce\` adds: the median of alternating rounds. Goal: at most ${GOAL_US} µs.`,
  runs: 20,
  async run(rounds, [requests = 8192, warm = 4] = []) {
    const results = await withPool(() =>
      open(async (handle, set) => {
        const found: { what: string; off: number; more: number }[] = []
        for (const [what, path] of Object.entries(PATHS))
          found.push({ what, ...(await compare({ handle, path, headers }, set, rounds, { requests, warm })) })
        return found
      }),
    )
    return {
      columns: ['', 'off', 'enforce adds'],
      rows: results.map(({ what, off, more }) => [what, `${off.toFixed(1)} µs`, `${more.toFixed(2)} µs`]),
      isGoalMet: results.every(({ more }) => more <= GOAL_US),
    }
  },
}
