// What a soak run needs: an upstream server, and two Cardea nodes with one configuration and PostgreSQL, or one with SQLite.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort, startPostgres } from '../../store/postgres-server.ts'
import { Node } from './node.ts'
import { toEnvironment } from './sabotage.ts'
import { startUpstream } from './upstream.ts'

export const ADMIN = { name: 'admin', password: 'the password of the soak run' }
/** Another node may accept a revoked credential for this long, and a second for the change to arrive. */
const MAX_STALENESS_SECONDS = 3
export const GRACE_MS = (MAX_STALENESS_SECONDS + 1) * 1000

const renderConfig = (store, upstream, workers) => `[store]
url = ${store}
max-staleness = ${MAX_STALENESS_SECONDS}
[chttpd_auth]
iterations = 1
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
export async function openTestbed({ sabotage, engine = 'postgres', workers = 1 }) {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-soak-'))
  const keys = join(folder, 'keys')
  mkdirSync(keys)
  writeFileSync(join(keys, '000000.key'), 'the first secret of tokens, long enough', { mode: 0o600 })
  const postgres = engine === 'postgres' ? await startPostgres({ isDurable: true }) : undefined
  const upstream = await startUpstream()
  const store = (await postgres?.createPlace()) ?? `sqlite:${join(folder, 'store.db')}`
  const config = renderConfig(store, upstream.url, workers)
  writeFileSync(join(folder, 'local.ini'), config, { mode: 0o600 })
  const env = toEnvironment(sabotage)
  const nodes: Node[] = []
  for (const name of postgres ? ['node 1', 'node 2'] : ['node 1'])
    nodes.push(new Node({ name, folder, ports: [await findFreePort(), await findFreePort()], env }))
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
