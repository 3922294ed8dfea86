// Two nodes over one PostgreSQL, with one folder of keys.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { verifyStored } from '../../src/kernel/audit.ts'
import { makeAuditKey, readSigningKey } from '../../src/observe/audit/audit-key.ts'
import { signCheckpoint } from '../../src/observe/audit/checkpoint.ts'
import { toCheckpointPath } from '../../src/observe/audit/checkpoint-files.ts'
import { connectPostgres } from '../store/postgres-server.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { makeFolder } from '../support/scope.ts'
import { type Server, startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const NODES = ['cardea@node-a', 'cardea@node-b'] as const

async function startNodes(t: TestContext) {
  const postgres = await connectPostgres()
  t.after(() => postgres.stop())
  const url = await postgres.createPlace()
  const folder = makeFolder(t)
  const keyFile = join(folder, 'audit.pem')
  const pem = makeAuditKey()
  writeFileSync(keyFile, pem, { mode: 0o600 })
  const options = {
    store: { url },
    audit: { 'key-file': keyFile, 'on-failure': 'refuse' },
    chttpd_auth: { iterations: 1 },
  }
  const servers: Server[] = []
  for (const name of NODES) servers.push(await startServer(t, options, { node: { name } }))
  const findAll = async () => {
    const { findings } = await verifyStored(url, { keyFile, node: NODES[0] }, { keys: [readSigningKey(pem)] })
    return findings.map(({ node, kind }) => `${node} ${kind}`)
  }
  return { servers, folder, findAll, execute: (sql: string) => postgres.execute(url, sql) }
}

const addUser = (name: string) => ({
  method: 'PUT',
  path: `/_users/org.couchdb.user:${name}`,
  as: AS_ADMIN,
  body: { name, password: 'right', roles: [], type: 'user' },
})

/** The statuses of requests that create users, at all nodes at a time. */
async function addUsers(servers: readonly Server[], rounds: number): Promise<readonly number[]> {
  const perNode = await Promise.all(
    servers.map(async ({ document }, node) => {
      const statuses: number[] = []
      for (let round = 0; round < rounds; round += 1)
        statuses.push((await send(document, addUser(`user-${node}-${round}`))).status)
      return statuses
    }),
  )
  return perNode.flat()
}

const verifyAt = async ({ document }: Server) =>
  (await send(document, { method: 'POST', path: '/_cardea/api/audit/verification', as: AS_ADMIN })).json.findings

test('nodes that share a folder of keys refuse no write, and have a checkpoint file each', async (t) => {
  const { servers, folder, findAll } = await startNodes(t)
  const statuses = await addUsers(servers, 60)
  assert.deepEqual([...new Set(statuses)], [201])
  for (const server of servers) assert.deepEqual(await verifyAt(server), [])
  assert.deepEqual(await findAll(), [])
  assert.equal(readdirSync(folder).filter((name) => name.endsWith('.checkpoint')).length, 2)
  assert.deepEqual(
    servers.flatMap(({ log }) => log.filter(({ fields }) => fields['event'] === 'audit.failed')),
    [],
  )
})

for (const [index, node] of NODES.entries())
  test(`verify finds a rolled-back chain of node ${index + 1}, whichever node wrote last`, async (t) => {
    const { servers, findAll, execute } = await startNodes(t)
    await addUsers(servers, 3)
    for (const server of servers) assert.deepEqual(await verifyAt(server), [])
    for (const server of servers) await server.cardea.close()
    assert.deepEqual(await findAll(), [])
    await execute(`DELETE FROM cardea_audit WHERE node = '${node}' AND sequence > 2`)
    await execute(`UPDATE cardea_audit_chains SET sequence = 2, checkpoint = NULL,
      hash = (SELECT hash FROM cardea_audit WHERE node = '${node}' AND sequence = 2) WHERE node = '${node}'`)
    assert.deepEqual(await findAll(), [`${node} checkpoint`, `${node} truncated`])
    await execute(`DELETE FROM cardea_audit WHERE node = '${node}'`)
    await execute(`DELETE FROM cardea_audit_chains WHERE node = '${node}'`)
    assert.ok((await findAll()).includes(`${node} truncated`))
  })

test('the checkpoint file of a node that is gone is removed when its records would be', async (t) => {
  const folder = makeFolder(t)
  const keyFile = join(folder, 'audit.pem')
  const pem = makeAuditKey()
  writeFileSync(keyFile, pem, { mode: 0o600 })
  const end = { sequence: 3, hash: 'a' }
  const [old, recent] = [0, Date.now()].map((time) => {
    const path = toCheckpointPath(keyFile, `cardea@${time}`)
    const purged = { sequence: 0, hash: '' }
    writeFileSync(path, signCheckpoint({ node: `cardea@${time}`, ...end, purged, time }, readSigningKey(pem)))
    return path
  })
  await startServer(t, { audit: { 'key-file': keyFile } })
  await waitUntil(() => !existsSync(old ?? ''))
  assert.ok(existsSync(recent ?? ''))
})
