import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Router } from '../../src/cluster/router.ts'
import { ClientCounts } from '../../src/http/client-counts.ts'
import { joinWorker, joinWorkers } from '../support/siblings.ts'

const LIMIT = 10
const CLIENT = '192.0.2.1'

async function startWorkers(count: number) {
  const router = new Router(count)
  const workers = await joinWorkers(count, router)
  const create = ({ siblings }: (typeof workers)[number]) => new ClientCounts('test', () => LIMIT, siblings)
  const counts = workers.map(create)
  return { counts, start: async () => create(await joinWorker(router)), workers }
}

/** When all messages were handled. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
}

async function open(counts: ClientCounts | undefined, times: number): Promise<number> {
  let all = 0
  for (let turn = 0; turn < times; turn += 1) {
    all = counts?.add(CLIENT).all ?? 0
    await settle()
  }
  return all
}

async function close(counts: ClientCounts | undefined, times: number): Promise<void> {
  for (let turn = 0; turn < times; turn += 1) counts?.release(CLIENT)
  await settle()
}

describe('connections of a client at several workers', () => {
  it('are counted together as soon as one has its share', async () => {
    const { counts } = await startWorkers(2)
    assert.equal(await open(counts[0], 3), 3)
    assert.equal(await open(counts[1], 5), 5)
    assert.equal(await open(counts[1], 2), 10)
    assert.equal(await open(counts[0], 1), 11)
  })

  it('are the own ones again when the others are closed', async () => {
    const { counts } = await startWorkers(2)
    await open(counts[0], 8)
    assert.equal(await open(counts[1], 2), 10)
    await close(counts[0], 8)
    assert.equal(await open(counts[1], 1), 3)
    await close(counts[1], 3)
    assert.equal(await open(counts[0], 6), 6)
  })

  it('are known to a worker that starts later, and forgotten with one that ended', async () => {
    const { counts, workers, start } = await startWorkers(2)
    await open(counts[0], 8)
    await open(counts[1], 1)
    workers[1]?.member.leave()
    const later = await start()
    await settle()
    assert.equal(await open(later, 1), 9)
    assert.equal(await open(counts[0], 1), 10)
  })

  it('of a worker that was killed are forgotten at once', async () => {
    const { counts, workers } = await startWorkers(2)
    await open(counts[1], 8)
    assert.equal(await open(counts[0], 2), 10)
    workers[1]?.member.leave()
    await settle()
    assert.equal(await open(counts[0], 1), 3)
  })

  it('that were let in at the same time are refused later, down to the limit', async () => {
    const { counts } = await startWorkers(2)
    const opened = counts.map((each) => Array.from({ length: LIMIT }, () => each.add(CLIENT)))
    for (const all of opened.flat()) assert.ok(all.all <= LIMIT)
    await settle()
    const left = counts.map((each, at) => opened[at]?.filter(({ own }) => !each.isSurplus(CLIENT, own)).length)
    assert.deepEqual(left, [5, 5])
  })
})
