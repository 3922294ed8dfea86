import assert from 'node:assert/strict'
import { readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { claimName, MACHINE } from '../../src/cluster/node-name.ts'
import type { NodeRecord } from '../../src/directory/store-port/nodes.ts'
import { openTestNode } from '../support/directory.ts'

const NO_PROCESS = 2 ** 22 + 1

const toNode = (instance: string, seenAt: number, machine: string): NodeRecord => ({
  instance,
  name: 'cardea@shop',
  seenAt,
  state: { version: '1', startedAt: 1, lagMs: 0, keysHash: '', problems: [], process: { machine, pid: NO_PROCESS } },
})

/** What a machine of the same host name has in common with this one. The first namespace of process ids has one number everywhere. */
const SAME_NAMES = `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`

test('a node that runs on another machine of the same host name is refused', async (t) => {
  const { store } = await openTestNode(t)
  const seenAt = Math.floor(Date.now() / 1000)
  await store.putNode(toNode('there', seenAt, SAME_NAMES))
  let attempts = 0
  const describe = () => {
    attempts += 1
    // it beats later than this node first looks
    if (attempts === 3) void store.putNode(toNode('there', seenAt + 1, SAME_NAMES))
    return toNode('here', seenAt, MACHINE)
  }
  await assert.rejects(claimName(store, { describe, isAlone: false, maxWaitMs: 60_000 }), {
    message: new RegExp(`Another node with the name cardea@shop is running \\(host ${hostname()}, process`),
  })
})

test('a node of this machine whose process is gone is replaced at once', async (t) => {
  const { store } = await openTestNode(t)
  const seenAt = Math.floor(Date.now() / 1000)
  await store.putNode(toNode('before', seenAt, MACHINE))
  const describe = () => toNode('here', seenAt, MACHINE)
  const release = await claimName(store, { describe, isAlone: false, maxWaitMs: 60_000 })
  release()
  assert.deepEqual(
    (await store.listNodes()).map(({ instance }) => instance),
    ['here'],
  )
})
