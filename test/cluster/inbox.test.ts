import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { openInbox } from '../../src/cluster/inbox.ts'

it('a message that arrives while the worker opens is taken later', (t) => {
  const { port1, port2 } = new MessageChannel()
  t.after(() => port1.close())
  const inbox = openInbox(port2, () => {})
  port1.postMessage({ kind: 'stop', graceMs: 1 })
  inbox.receive()
  const taken: string[] = []
  inbox.onControl(({ kind }) => taken.push(kind))
  port1.postMessage({ kind: 'metrics' })
  inbox.receive()
  assert.deepEqual(taken, ['stop', 'metrics'])
})
