import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { it } from 'node:test'
import { probeInternals } from '../../../src/base/node-internals/probes.ts'
import { returnUnconfirmed } from '../../../src/base/node-internals/unconfirmed-connections.ts'
import type { Scope } from '../../support/scope.ts'

/** A process that reads no messages. */
function startChild(scope: Scope): ChildProcess {
  const stdio = ['ignore', 'ignore', 'ignore', 'ipc'] as const
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: [...stdio] })
  scope.after(() => child.kill('SIGKILL'))
  return child
}

it('declines the connections that a process has not confirmed when it ends', async (t) => {
  const child = startChild(t)
  returnUnconfirmed(child)
  for (const seq of [7, 8]) child.send({ cmd: 'NODE_CLUSTER', act: 'newconn', seq })
  child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: 7, accepted: true })
  const declined = once(child, 'internalMessage')
  child.kill('SIGKILL')
  assert.deepEqual(await declined, [{ cmd: 'NODE_CLUSTER', ack: 8, accepted: false }])
})

it('changes nothing on a Node whose messages may be others', (t) => {
  probeInternals(['unconfirmed-connections'])
  t.after(() => probeInternals())
  const child = startChild(t)
  const { send } = child
  returnUnconfirmed(child)
  assert.equal(child.send, send)
})
