// Users that stay in CouchDB, compared with users of Cardea's own. Sizes: users, seconds of each measurement. With
// BENCH_COUCHDB, the URL of a real CouchDB with an administrator's credentials, and BENCH_COUCHDB_SECRET, which
// it accepts tokens of, the users are written there first. The memory is that of users-in-couchdb-memory.
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { median, ratio } from './figures.ts'
import { startProgram, startServer } from './support/child.ts'
import { ADMIN, withFolder, writeConfig } from './support/folder.ts'
import { contest, countPerSecond, renderNumber } from './support/measure.ts'
import { fillStore, toDocument } from './support/users.ts'

const MAX_FILL = 1.25
/** How much equal measurements differ from run to run. */
const NOISE = 1.15
const PAGE = 500
const BATCH = 10
const SIGNER = { name: 'signer', password: 'the-password-of-the-signer' }

const COUCHDB = process.env['BENCH_COUCHDB']

/** Returns its address, and what stops it. */
export async function openDatabase(users: number, folder: string) {
  if (!COUCHDB) {
    const server = startProgram(join(import.meta.dirname, 'support/feed-server.ts'), [String(users)], { cwd: folder })
    const [url] = await server.says(/^http\S+$/m)
    return { url, stop: () => void server.child.kill('SIGTERM') }
  }
  const { origin, username, password } = new URL(COUCHDB)
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const headers = { authorization, 'content-type': 'application/json' }
  for (let from = 0; from < users; from += PAGE) {
    const docs = Array.from({ length: Math.min(PAGE, users - from) }, (_, offset) => {
      const { _rev, ...document } = toDocument(from + offset)
      return document
    })
    const response = await fetch(`${origin}/_users/_bulk_docs`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ docs }),
    })
    if (response.status !== 201) throw new Error(`CouchDB: status ${response.status}`)
    await response.arrayBuffer()
  }
  return { url: origin, authorization, stop() {} }
}

/** The pages that Cardea reads, without it. */
async function readFeed({ url, authorization }: { readonly url: string; readonly authorization?: string }) {
  const startMs = performance.now()
  let since: string | number = 0
  let pending = 1
  while (pending > 0) {
    const query = `since=${since}&limit=${PAGE}&style=all_docs&include_docs=true&conflicts=true`
    const response = await fetch(`${url}/_users/_changes?${query}`, { headers: authorization ? { authorization } : {} })
    const page = (await response.json()) as { last_seq: string; pending: number }
    ;({ last_seq: since, pending } = page)
  }
  return (performance.now() - startMs) / 1000
}

export async function startFilled(folder: string, url: string) {
  mkdirSync(folder)
  writeConfig(folder, 1)
  const secret = process.env['BENCH_COUCHDB_SECRET'] ?? 'a-secret-of-the-upstream-for-benches-only'
  const lines = [
    '[upstream]',
    `document = ${url}`,
    `document-secret = ${secret}`,
    '[directory]',
    'source = couchdb',
    '',
  ]
  appendFileSync(join(folder, 'local.ini'), lines.join('\n'))
  const server = await startServer(folder)
  const startMs = performance.now()
  // seldom: each request takes time from the copy. The health is looked at once a second
  while (!(await isCopied(server))) await new Promise((resolve) => setTimeout(resolve, 50))
  return { server, seconds: (performance.now() - startMs) / 1000 }
}

async function isCopied(server: Server): Promise<boolean> {
  const { phase } = (await (await api(server, 'GET', '/directory')).json()) as { readonly phase: string }
  return phase === 'following'
}

export async function startOwn(folder: string, users: number) {
  mkdirSync(folder)
  writeConfig(folder, 1)
  await fillStore(`sqlite:${join(folder, 'cardea.db')}`, users)
  return startServer(folder)
}

export type Server = Awaited<ReturnType<typeof startServer>>

const signIn = ({ document }: Server, user: { readonly name: string; readonly password: string }) =>
  fetch(`${document}/_session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(user),
  })

const AS_ADMIN = { authorization: `Basic ${Buffer.from(`${ADMIN.name}:${ADMIN.password}`).toString('base64')}` }

const api = ({ document }: Server, method: string, path: string, body?: object) =>
  fetch(`${document}/_cardea/api${path}`, {
    method,
    headers: { ...AS_ADMIN, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })

export async function prepareRequests(server: Server, ms: number) {
  const made = await api(server, 'POST', '/users', SIGNER)
  // 409: it is there, as the server was restarted
  if (made.status !== 200 && made.status !== 409) throw new Error(`the user is not made: ${await made.text()}`)
  const cookie = (await signIn(server, SIGNER)).headers.get('set-cookie')?.split(';')[0] ?? ''
  const repeat = (work: () => Promise<Response>) => () =>
    countPerSecond(
      async (batch) => {
        for (const response of await Promise.all(Array.from({ length: batch }, work))) {
          await response.arrayBuffer()
          if (response.status !== 200) throw new Error(`status ${response.status}`)
        }
      },
      { ms, batch: BATCH },
    )
  return {
    signIns: repeat(() => signIn(server, SIGNER)),
    cookies: repeat(() => fetch(`${server.document}/_session`, { headers: { cookie } })),
  }
}

export const bench = {
  title: 'Users in CouchDB',
  about:
    `Users who stay in CouchDB, and users of Cardea's own. At ${COUCHDB ? 'CouchDB 3.5.0' : 'a feed server'}. ` +
    `Goals: the first copy takes at most ${MAX_FILL} times as long as reading the feed alone; sign-ins and requests with a cookie are as many, within noise (${ratio(NOISE)}).`,
  runs: 3,
  run: (runs: number, [users = 20_000, seconds = 2] = []) =>
    withFolder(async (folder) => {
      const database = await openDatabase(users, folder)
      const reading = await contest([() => readFeed(database)], runs)
      const fills: number[] = []
      let filled = await startFilled(join(folder, 'there-0'), database.url)
      fills.push(filled.seconds)
      for (let run = 1; run < runs; run += 1) {
        await filled.server.stop()
        filled = await startFilled(join(folder, `there-${run}`), database.url)
        fills.push(filled.seconds)
      }
      const own = await startOwn(join(folder, 'own'), users)
      const servers = [own, filled.server]
      try {
        const requests = await Promise.all(servers.map((server) => prepareRequests(server, seconds * 1000)))
        const signIns = await contest(
          requests.map((each) => each.signIns),
          runs,
        )
        const cookies = await contest(
          requests.map((each) => each.cookies),
          runs,
        )
        const fill = median(fills)
        return {
          columns: ['', 'own', 'in CouchDB', ''],
          rows: [
            toRow(`the first copy of ${renderNumber(users)} users, to reading the feed (s)`, reading[0], fill),
            toRow('sign-ins a second', signIns[0], signIns[1]),
            toRow('requests with a cookie a second', cookies[0], cookies[1]),
          ],
          after: `${renderNumber(users / fill)} users a second.`,
          isGoalMet:
            fill / reading[0] <= MAX_FILL && signIns[0] / signIns[1] <= NOISE && cookies[0] / cookies[1] <= NOISE,
        }
      } finally {
        if (COUCHDB) await api(filled.server, 'DELETE', `/users/${SIGNER.name}`)
        for (const server of servers) await server.stop()
        database.stop()
      }
    }),
}

const toRow = (what: string, own: number, there: number) => [
  what,
  renderNumber(own),
  renderNumber(there),
  ratio(there / own),
]
