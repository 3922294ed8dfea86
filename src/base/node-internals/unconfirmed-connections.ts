import type { ChildProcess } from 'node:child_process'
import { yieldToOthers } from '../pace.ts'
import { isInternalUsable } from './probes.ts'

/** A message of `node:cluster` itself. */
interface ClusterMessage {
  readonly cmd?: string
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

/**
 * `node:cluster` waits until a child process confirms a connection that it was sent. If the child ends before, Node
 * keeps the connection open and its client waits forever. This declines such a connection in the name of the child, so
 * that Node sends it to another one.
 */
export function returnUnconfirmed(child: ChildProcess): void {
  if (!isInternalUsable('unconfirmed-connections')) return
  const unconfirmed = new Set<number>()
  const send = child.send
  child.send = (message: ClusterMessage, ...rest: unknown[]) => {
    if (message.cmd === 'NODE_CLUSTER' && message.act === 'newconn' && message.seq !== undefined)
      unconfirmed.add(message.seq)
    return Reflect.apply(send, child, [message, ...rest])
  }
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) unconfirmed.delete(ack)
  })
  let isDisconnected = false
  child.once('exit', async () => {
    // until all that it has sent was read
    do await yieldToOthers()
    while (child.connected)
    // Node does not, if the child has not read a connection
    if (!isDisconnected) child.emit('disconnect')
  })
  child.once('disconnect', () => {
    isDisconnected = true
    for (const ack of unconfirmed) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false })
  })
}
