// Whether this node fits the others of its store: they need different names, and accept the sessions of each other.
import { createHmac } from 'node:crypto'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { LOST_SECONDS, type NodeKeys, type NodeRecord, type NodeStore } from '../directory/store-port/nodes.ts'
import type { KeyRing } from '../keys/ring.ts'
import { askStore, type HealthCheck, type HealthProblem } from '../observe/health.ts'

export interface NodeSecrets {
  /** Cardea's own key, shared by the nodes of a store. */
  readonly ownKey: Uint8Array
  /** Signs the tokens of the multi-model door. */
  readonly tokens: KeyRing
  /** Signs for ArangoDB. */
  readonly upstream: KeyRing | undefined
  /** The first signs cookies. */
  readonly cookies: readonly string[]
}

/** Keyed, so that it does not help to guess a weak secret. */
const toPrint = (ownKey: Uint8Array, text: string): string =>
  createHmac('sha256', ownKey).update(text).digest('hex').slice(0, 16)

/** Equal on nodes that have the same secrets. */
export const toKeysHash = ({ ownKey, tokens, upstream, cookies }: NodeSecrets): string =>
  toPrint(ownKey, [tokens.version, upstream?.version ?? '', ...cookies.slice(0, 1)].join('\n'))

/** What sessions and tokens are signed with, and what is accepted: during a rotation more than one. */
export function toNodeKeys({ ownKey, tokens, cookies }: NodeSecrets): NodeKeys {
  const accepts = [
    ...tokens.verifying.map(({ key }) => toPrint(ownKey, `token ${key.version}`)),
    ...cookies.map((secret) => toPrint(ownKey, `cookie ${secret}`)),
  ]
  return { signs: accepts.filter((_, index) => index === 0 || index === tokens.verifying.length), accepts }
}

/** The row of a node tells of a new secret a moment after the node has it. */
const FOLLOW_MS = 15_000

/**
 * If two nodes do not fit, the one that was started later is not ready: so a node with a wrong configuration does not
 * take the others out of service. They warn of it.
 */
export function createNodesCheck(store: NodeStore, clock: Clock, describe: () => NodeRecord): HealthCheck {
  const agreedAtMs = new Map<string, number>()
  const findReason = (own: NodeRecord, other: NodeRecord): string | undefined => {
    const isNamed = `${other.name}${other.state.process ? ` (${other.state.process.machine.split(' ')[0]})` : ''}`
    if (other.name === own.name) return `another node has the name ${isNamed}: see node.name`
    const nowMs = performance.now()
    if (isAccepting(own, other) && isAccepting(other, own)) agreedAtMs.set(other.instance, nowMs)
    if (nowMs - (agreedAtMs.get(other.instance) ?? -FOLLOW_MS) < FOLLOW_MS) return undefined
    return `${isNamed} has different keys, so sessions and tokens of one node are not accepted at the other: compare the secrets of cookies and tokens`
  }
  return {
    name: 'nodes',
    async find(): Promise<HealthProblem | undefined> {
      const own = describe()
      const nodes = await askStore(store.listNodes(), [])
      const found = nodes
        .filter(({ instance, seenAt }) => instance !== own.instance && nowSeconds(clock) - seenAt <= LOST_SECONDS)
        .flatMap((other) => {
          const reason = findReason(own, other)
          return reason === undefined ? [] : [{ reason, isWarning: isEarlier(own, other) }]
        })
      if (found.length === 0) return undefined
      return {
        reason: found.map(({ reason }) => reason).join('; '),
        isWarning: found.every(({ isWarning }) => isWarning),
      }
    },
  }
}

/** A node of an earlier version does not say what it accepts. */
const isAccepting = ({ state: { keys: own } }: NodeRecord, { state: { keys: other } }: NodeRecord): boolean =>
  !own || !other || other.signs.every((key) => own.accepts.includes(key))

const isEarlier = (own: NodeRecord, other: NodeRecord): boolean =>
  (own.state.openedMs ?? 0) - (other.state.openedMs ?? 0) < 0
