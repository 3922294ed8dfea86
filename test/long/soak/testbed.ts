// What a soak run needs: an upstream server, and two Cardea nodes with one configuration and PostgreSQL, or one with SQLite.
// With clocks that differ, there are five nodes with PostgreSQL.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort, startPostgres } from '../../store/postgres-server.ts'
import { Node } from './node.ts'
import { toEnvironment } from './sabotage.ts'
import { startUpstream } from './upstream.ts'

export const ADMIN = { name: 'admin', password: 'the password of the soak run' }
/** Another node may accept a revoked credential for this long, and a second for the change to arrive. */
const MAX_STALENESS_SECONDS = 3
export const GRACE_MS = (MAX_STALENESS_SECONDS + 1) * 1000

/** Seconds that the clocks of nodes differ from the right one. With SQLite, the clock of the only node jumps among them. */
export const CLOCK_SHIFTS = [0, -600, -30, 30, 600]

const PRELOAD = fileURLToPath(new URL('../../support/shifted-clock.ts', import.meta.url))

/** Sessions outlive every jump. */
const TIMEOUT_SECONDS = 3600

const renderConfig = (store, upstream, workers) => `[store]
url = ${store}
max-staleness = ${MAX_STALENESS_SECONDS}
[chttpd_auth]
iterations = 1
timeout = ${TIMEOUT_SECONDS}
secret = the first secret of cookies
[chttpd_auth_lockout]
mode = off
[auth]
account-failures = 0
peer-failures = 0
[couchdb]
uuid = ${'0'.repeat(32)}
[server]
workers = ${workers}
jwt-secret-folder = keys
[upstream]
document = ${upstream}
document-secret = the secret of the upstream server
multi-model = ${upstream}
multi-model-identity = client
[admins]
${ADMIN.name} = ${ADMIN.password}
`

/** `sabotage`: the name of a deliberate bug in all nodes. */
export async function openTestbed({ sabotage, engine = 'postgres', workers = 1, hasClocks = false }) {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-soak-'))
  const keys = join(folder, 'keys')
  mkdirSync(keys)
  writeFileSync(join(keys, '000000.key'), 'the first secret of tokens, long enough', { mode: 0o600 })
  const postgres = engine === 'postgres' ? await startPostgres({ isDurable: true }) : undefined
  const upstream = await startUpstream()
  const store = (await postgres?.createPlace()) ?? `sqlite:${join(folder, 'store.db')}`
  const config = renderConfig(store, upstream.url, workers)
  writeFileSync(join(folder, 'local.ini'), config, { mode: 0o600 })
  const nodes: Node[] = []
  const shifts = hasClocks ? CLOCK_SHIFTS : [0, 0]
  for (const [index, seconds] of (postgres ? shifts : [0]).entries()) {
    const clock = join(folder, `clock-${index}`)
    writeFileSync(clock, String(seconds * 1000))
    const env = hasClocks ? { NODE_OPTIONS: `--import ${PRELOAD}`, SHIFTED_CLOCK: clock } : toEnvironment(sabotage)
    const ports = [await findFreePort(), await findFreePort()]
    nodes.push(new Node({ name: `node ${index + 1}`, folder, ports, env, clock }))
  }
  // how often each secret was replaced; a token signed before the last rotation is revoked
  const rotations = { cookies: 0, retired: 0, isUnderWay: false }
  const testbed = { keys, postgres, upstream, nodes, rotations, close }
  async function close() {
    await Promise.all(nodes.map((node) => node.kill()))
    await upstream.stop()
    await postgres?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    // one after the other: the first migrates the store
    for (const node of nodes) await node.start()
    return testbed
  } catch (error) {
    await close()
    throw error
  }
}
