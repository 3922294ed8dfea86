import { findMember, isJsonObject } from '../base/json.ts'
import type { Balancer, Member } from './balancer.ts'
import { readJsonBody } from './identity-check.ts'
import type { Pools } from './pools.ts'

/** `unready`: it answers, but asks not to be used now. */
export type UpstreamHealth =
  | { readonly kind: 'up' }
  | { readonly kind: 'unready'; readonly status: string }
  | { readonly kind: 'down' }

const UP: UpstreamHealth = Object.freeze({ kind: 'up' })
const DOWN: UpstreamHealth = Object.freeze({ kind: 'down' })

const TIMEOUT_MS = 5000

/** The best of all servers: one that is up serves the door. */
export async function checkHealth(group: Balancer<Pools>, path: string): Promise<UpstreamHealth> {
  const asked = group.members.map((member) => askOne(member, path).catch(() => DOWN))
  // without waiting for a server that does not answer
  const firstUp = Promise.any(asked.map(requireUp))
  return firstUp.catch(async () => (await Promise.all(asked)).find(({ kind }) => kind === 'unready') ?? DOWN)
}

async function requireUp(asked: Promise<UpstreamHealth>): Promise<UpstreamHealth> {
  const health = await asked
  if (health.kind !== 'up') throw new Error('not up')
  return health
}

async function askOne({ pool }: Member<Pools>, path: string): Promise<UpstreamHealth> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const { statusCode, body } = await pool.requests.request({ method: 'GET', path, signal })
  const json = await readJsonBody(body)
  if (statusCode >= 500) return DOWN
  const status = statusCode === 404 && isJsonObject(json) ? findMember(json, 'status') : undefined
  return typeof status === 'string' ? { kind: 'unready', status } : UP
}
