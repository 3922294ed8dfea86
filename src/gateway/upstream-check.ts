/**
 * Inspects an upstream server before clients use it: whether it can be reached, accepts the identities that Cardea signs,
 * and gives anonymous clients no administrative rights. The requests only read.
 */
import type { UpstreamServer } from './connections.ts'
import { type IdentityProbe, type OpenProbe, readJsonBody } from './identity-probe.ts'
import { codeOf } from './upstream-errors.ts'

export type UpstreamProblem = 'unreachable' | 'identity rejected' | 'open'

/** One thing that keeps an upstream server from being used as it should. */
export interface UpstreamFinding {
  /** URL of the server, without user and password. */
  readonly upstream: string
  readonly problem: UpstreamProblem
  readonly reason: string
  /** What to change. */
  readonly check: string
}

/** What to change, for each problem. */
export type UpstreamAdvice = Readonly<Record<UpstreamProblem, string>>

export interface UpstreamCheckDeps {
  readonly probe: IdentityProbe
  readonly openProbes: readonly OpenProbe[]
  advice(): UpstreamAdvice
}

type Found = Pick<UpstreamFinding, 'problem' | 'reason'>

export async function checkUpstreamServer(
  server: UpstreamServer,
  deps: UpstreamCheckDeps,
): Promise<readonly UpstreamFinding[]> {
  const { protocol, host } = new URL(server.url)
  const upstream = `${protocol}//${host}`
  const found = await findProblems(server, deps)
  return found.map(({ problem, reason }) => ({ upstream, problem, reason, check: deps.advice()[problem] }))
}

async function findProblems(
  server: UpstreamServer,
  { probe, openProbes }: UpstreamCheckDeps,
): Promise<readonly Found[]> {
  try {
    const rejected = await findRejection(server, probe)
    const open = await Promise.all(openProbes.map((each) => findOpenness(server, each)))
    return [rejected, ...open].filter((found) => found !== undefined)
  } catch (error) {
    return [{ problem: 'unreachable', reason: describe(error) }]
  }
}

async function findRejection(server: UpstreamServer, probe: IdentityProbe): Promise<Found | undefined> {
  const headers = probe.headers()
  if (headers === undefined) return undefined
  const { status, body } = await ask(server, probe.path, headers)
  const reason = probe.findReason(status, body)
  return reason === undefined ? undefined : { problem: 'identity rejected', reason }
}

async function findOpenness(server: UpstreamServer, probe: OpenProbe): Promise<Found | undefined> {
  const { status, body } = await ask(server, probe.path, probe.headers)
  const reason = probe.findReason(status, body)
  return reason === undefined ? undefined : { problem: 'open', reason }
}

const TIMEOUT_MS = 5000

class UnusableResponse extends Error {}

/** The code only: the message of a library may quote its input. */
function describe(error: unknown): string {
  if (error instanceof UnusableResponse) return error.message
  return error instanceof Error ? codeOf(error) || error.name : 'no response'
}

async function ask({ connections }: UpstreamServer, path: string, headers: readonly string[]) {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const response = await connections.requests.request({ method: 'GET', path, headers: [...headers], signal })
  const status = response.statusCode
  const body = await readJsonBody(response.body)
  if (status >= 500) throw new UnusableResponse(`GET ${path}: status ${status}`)
  return { status, body }
}
