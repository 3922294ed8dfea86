/**
 * Inspects an upstream server before clients use it: whether it can be reached, accepts the identities that Cardea signs,
 * and gives anonymous clients no administrative rights. The requests only read.
 */

import { findMember, isJsonObject } from '../base/json.ts'
import { type Balancer, toPublicUrl, type UpstreamServer } from './connections.ts'
import type { UpstreamHints, UpstreamProblem } from './hints.ts'
import { ask, type IdentityProbe, type Probe, sendProbe, UnusableResponse } from './identity-probe.ts'
import { describeError, isUnconnected } from './upstream-errors.ts'

/** One thing that keeps an upstream server from being used as it should. */
export interface UpstreamFinding {
  /** URL of the server, without user and password. */
  readonly upstream: string
  readonly problem: UpstreamProblem
  readonly reason: string
  /** What to change. */
  readonly check: string
}

export interface UpstreamCheckDeps {
  readonly probe: IdentityProbe
  readonly openProbes: readonly Probe[]
  hints(): UpstreamHints
}

type Found = Pick<UpstreamFinding, 'problem' | 'reason'>

export async function checkUpstreamServer(
  server: UpstreamServer,
  deps: UpstreamCheckDeps,
): Promise<readonly UpstreamFinding[]> {
  const upstream = toPublicUrl(server.url)
  const found = await findProblems(server, deps)
  return found.map(({ problem, reason }) => ({ upstream, problem, reason, check: deps.hints()[problem] }))
}

async function findProblems(
  server: UpstreamServer,
  { probe, openProbes }: UpstreamCheckDeps,
): Promise<readonly Found[]> {
  try {
    const rejected = await findProblem(server, probe, 'identity rejected')
    const open = await Promise.all(openProbes.map((each) => findProblem(server, each, 'open')))
    return [rejected, ...open].flat()
  } catch (error) {
    const problem = error instanceof Error && isUnconnected(error) ? 'unreachable' : 'failed'
    return [{ problem, reason: describe(error) }]
  }
}

async function findProblem(server: UpstreamServer, probe: Probe, problem: UpstreamProblem): Promise<readonly Found[]> {
  const reason = await sendProbe(server, probe)
  return reason === undefined ? [] : [{ problem, reason }]
}

function describe(error: unknown): string {
  if (error instanceof UnusableResponse) return error.message
  return error instanceof Error ? describeError(error) : 'no response'
}

export interface UpstreamHealth {
  /** `unready`: the server responds, but asks not to be used now. */
  readonly kind: 'up' | 'unready' | 'down'
  /** With which it asks so, such as `maintenance_mode`. */
  readonly status?: string
}

const UP: UpstreamHealth = Object.freeze({ kind: 'up' })
const DOWN: UpstreamHealth = Object.freeze({ kind: 'down' })

/** The health of the best server: one that is up is enough for the door. */
export async function checkHealth(balancer: Balancer, path: string): Promise<UpstreamHealth> {
  const checks = balancer.servers.map((server) => checkServer(server, path).catch(() => DOWN))
  const requireUp = (health: UpstreamHealth) => (health.kind === 'up' ? health : Promise.reject(new Error('not up')))
  // does not wait for a server that does not respond
  const firstUp = Promise.any(checks.map((check) => check.then(requireUp)))
  return firstUp.catch(async () => (await Promise.all(checks)).find(({ kind }) => kind === 'unready') ?? DOWN)
}

async function checkServer(server: UpstreamServer, path: string): Promise<UpstreamHealth> {
  const { status, body } = await ask(server, path).catch((error) => {
    if (isUnconnected(error)) server.isUp = false
    throw error
  })
  // only the figures change: which server gets requests is decided by requests
  server.isUp = true
  if (status >= 500) return DOWN
  const named = status === 404 && isJsonObject(body) ? findMember(body, 'status') : undefined
  return typeof named === 'string' ? { kind: 'unready', status: named } : UP
}
