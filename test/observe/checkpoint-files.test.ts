import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { signCheckpoint } from '../../src/observe/audit/checkpoint.ts'
import { forgetCheckpoints, toCheckpointPath, writeCheckpoint } from '../../src/observe/audit/checkpoint-files.ts'
import {
  AUDIT_KEY,
  type AuditPlace,
  changeAudit,
  makeAuditPlace,
  runAuditNode,
  toOtherNode,
  verifyAudit,
} from '../support/audit-node.ts'

/** What an attacker who can write to the store does to the chain of one node. */
const cut = (place: AuditPlace): void =>
  changeAudit(
    place,
    `DELETE FROM cardea_audit WHERE node = '${place.node}' AND sequence > 1;
    UPDATE cardea_audit_chains SET sequence = 1, checkpoint = NULL,
      hash = (SELECT hash FROM cardea_audit WHERE node = '${place.node}' AND sequence = 1) WHERE node = '${place.node}'`,
  )

async function writeOnce(place: AuditPlace): Promise<readonly string[]> {
  const node = await runAuditNode(place)
  await node.write('a', 'b', 'c')
  await node.stop()
  return node.reported
}

const toShared = ({ keyFile }: AuditPlace): string => `${keyFile}.checkpoint`

/** Two nodes of an earlier version share one file, which has the checkpoint of the second. */
async function makeEarlier(t: TestContext) {
  const first = makeAuditPlace(t)
  const second = toOtherNode(first, 'm@host')
  for (const place of [first, second]) await writeOnce(place)
  rmSync(first.checkpoint)
  renameSync(second.checkpoint, toShared(second))
  return { first, second }
}

describe('the checkpoint file of an earlier version', () => {
  it('is no finding before the first start, and becomes the file of the node that it names', async (t) => {
    const { first, second } = await makeEarlier(t)
    for (const place of [first, second]) assert.deepEqual(await verifyAudit(place), [])
    const before = readFileSync(toShared(second), 'utf8')
    const unchecked = await writeOnce(first)
    assert.equal(readFileSync(second.checkpoint, 'utf8'), before)
    assert.equal(existsSync(toShared(second)), false)
    // the checkpoint of the first node was overwritten by the second, which cannot be told from a removal
    assert.match(unchecked.join(), /is missing or cannot be read$/)
    assert.deepEqual(await writeOnce(second), [])
    for (const place of [first, second]) assert.deepEqual(await verifyAudit(place), [])
  })

  it('shows a chain that was rolled back during the upgrade, to verify and to the node', async (t) => {
    const { first, second } = await makeEarlier(t)
    cut(second)
    assert.match((await verifyAudit(first)).join('\n'), /truncated: records 2 to 3 are missing/)
    await writeOnce(first)
    assert.match((await verifyAudit(first)).join('\n'), /truncated: records 2 to 3 are missing/)
    assert.deepEqual(await writeOnce(second), ['the store ends before the last checkpoint'])
    assert.match((await verifyAudit(first)).join('\n'), /missing: records 2 to 3 are missing/)
  })

  it('does not replace a newer file, as after a downgrade for a while', async (t) => {
    const place = makeAuditPlace(t)
    await writeOnce(place)
    copyFileSync(place.checkpoint, toShared(place))
    await writeOnce(place)
    await writeOnce(place)
    assert.equal(existsSync(toShared(place)), false)
    assert.match(readFileSync(place.checkpoint, 'utf8'), /"sequence":9/)
    renameSync(place.checkpoint, toShared(place))
    writeFileSync(place.checkpoint, 'damaged')
    assert.deepEqual(await writeOnce(place), [])
    assert.deepEqual(await verifyAudit(place), [])
  })
})

describe('checkpoint files of nodes that share a folder', () => {
  async function makeTwo(t: TestContext) {
    const first = makeAuditPlace(t)
    const second = toOtherNode(first, 'm@host')
    for (const place of [first, second]) await writeOnce(place)
    return { first, second }
  }

  it('are missing before the first start, which is no finding', async (t) => {
    const { first } = await makeTwo(t)
    assert.deepEqual(await verifyAudit(toOtherNode(first, 'new@host')), [])
  })

  it('make a finding if the file of this node is missing, damaged or that of another node', async (t) => {
    const { first, second } = await makeTwo(t)
    const rows: readonly (readonly [change: () => void, found: RegExp])[] = [
      [() => rmSync(first.checkpoint), /^checkpoint: .* is missing or cannot be read$/],
      [() => writeFileSync(first.checkpoint, '{}'), /^checkpoint: .* is damaged$/],
      [
        () => copyFileSync(second.checkpoint, first.checkpoint),
        /^checkpoint: .* holds the checkpoint of another node$/,
      ],
    ]
    for (const [change, found] of rows) {
      change()
      assert.match((await verifyAudit(first)).join('\n'), found)
    }
    assert.match((await writeOnce(first)).join('\n'), /holds the checkpoint of another node$/)
    assert.deepEqual(await verifyAudit(first), [])
  })

  it('show every node what was done to the chain of another', async (t) => {
    const { first, second } = await makeTwo(t)
    writeFileSync(second.checkpoint, readFileSync(second.checkpoint, 'utf8').replace('"sequence":3', '"sequence":4'))
    assert.match((await verifyAudit(first)).join('\n'), /^checkpoint: the signature of the checkpoint is wrong$/)
    writeFileSync(second.checkpoint, '{}')
    assert.match((await verifyAudit(first)).join('\n'), /^checkpoint: .* is damaged$/)
  })

  it('are removed with the chains of nodes that are gone, and no others', async (t) => {
    const { first, second } = await makeTwo(t)
    const isStored = async (chain: string) => chain === first.node
    await forgetCheckpoints(first.keyFile, SYSTEM_CLOCK.nowMs() - 60_000, isStored)
    assert.ok(existsSync(second.checkpoint))
    await forgetCheckpoints(first.keyFile, SYSTEM_CLOCK.nowMs() + 60_000, isStored)
    assert.equal(existsSync(second.checkpoint), false)
    assert.ok(existsSync(first.checkpoint))
    changeAudit(second, `DELETE FROM cardea_audit WHERE node = 'm@host'`)
    changeAudit(second, `DELETE FROM cardea_audit_chains WHERE node = 'm@host'`)
    assert.deepEqual(await verifyAudit(first), [])
  })

  it('stay complete while several processes write one of them', async (t) => {
    const place = makeAuditPlace(t)
    const end = { sequence: 1, hash: '' }
    const content = signCheckpoint({ node: place.node, ...end, purged: end, time: 1 }, AUDIT_KEY)
    await Promise.all(Array.from({ length: 50 }, () => writeCheckpoint(place.checkpoint, content)))
    assert.deepEqual(readdirSync(dirname(place.keyFile)), [place.checkpoint.slice(dirname(place.keyFile).length + 1)])
  })

  it('have names that hold neither slashes nor capital letters', () => {
    const [one, other] = ['Cardea@../HOST', 'cardea@../host'].map((node) => toCheckpointPath('audit.pem', node))
    assert.match(one ?? '', /^audit\.pem\.[0-9a-f]{16}\.checkpoint$/)
    assert.notEqual(one, other)
  })
})
