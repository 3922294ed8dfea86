/**
 * Inspects an upstream server before clients use it: whether it can be reached, accepts the identities that Cardea signs,
 * and gives anonymous clients no administrative rights. The requests only read.
 */
import { toPublicUrl, type UpstreamServer } from './connections.ts'
import type { UpstreamHints, UpstreamProblem } from './hints.ts'
import { type IdentityProbe, type Probe, sendProbe, UnusableResponse } from './identity-probe.ts'
import { describeError } from './upstream-errors.ts'

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
    return [{ problem: 'unreachable', reason: describe(error) }]
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
