// The two paths for orchestrators and load balancers: whether the process runs, and whether it can serve requests.
import { setTimeout as pause } from 'node:timers/promises'
import { Refusal } from '../../../base/errors.ts'
import type { Reply, RequestContext, Route } from '../../../http/request-context.ts'
import { toJsonReply } from '../json.ts'
import { hasAllRights } from '../rights.ts'

/** A part that Cardea cannot work without. */
export interface Component {
  readonly name: string
  /** Why it cannot be used, in words for the operator; `undefined`: it can. */
  findProblem(): Promise<string | undefined>
}

export interface ProbeDeps {
  /** The parts that are configured now. */
  components(): readonly Component[]
}

type Problems = ReadonlyMap<string, string | undefined>

const READ_METHODS: readonly string[] = ['GET', 'HEAD']

export function probeRoutes(deps: ProbeDeps): readonly Route[] {
  const check = shareBriefly(() => findProblems(deps.components()))
  return [
    { path: '/_cardea/live', allow: READ_METHODS, methods: { GET: () => toJsonReply(200, { status: 'ok' }) } },
    {
      path: '/_cardea/ready',
      allow: READ_METHODS,
      methods: { GET: async (context) => describeReadiness(context, await check()) },
    },
  ]
}

/** Only administrators see the reasons: they name servers and files. */
function describeReadiness({ authenticated }: RequestContext, problems: Problems): Reply {
  const failed = [...problems].filter(([, problem]) => problem !== undefined)
  const components = [...problems].map(([name, problem]) => [name, problem === undefined ? 'ok' : 'failed'])
  return toJsonReply(failed.length === 0 ? 200 : 503, {
    status: failed.length === 0 ? 'ok' : 'failed',
    components: Object.fromEntries(components),
    ...(authenticated &&
      hasAllRights(authenticated.identity) &&
      failed.length > 0 && { reasons: Object.fromEntries(failed) }),
  })
}

export const findProblems = async (components: readonly Component[]): Promise<Problems> =>
  new Map(
    await Promise.all(components.map(async (component) => [component.name, await checkInTime(component)] as const)),
  )

const MAX_SECONDS = 3

async function checkInTime(component: Component): Promise<string | undefined> {
  const done = new AbortController()
  const late = pause(MAX_SECONDS * 1000, `no response within ${MAX_SECONDS} seconds`, { signal: done.signal })
  try {
    return await Promise.race([component.findProblem(), late])
  } catch {
    return 'the check failed'
  } finally {
    late.catch(() => {})
    done.abort()
  }
}

const SHARED_MS = 1000

/** One check for all requests of a second: anonymous clients must not cause any number of requests to the parts. */
export function shareBriefly<T>(work: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined
  return () => {
    if (current) return current
    const started = work()
    current = started
    void started.finally(() => setTimeout(() => (current = undefined), SHARED_MS).unref()).catch(() => {})
    return started
  }
}

export interface ComponentSources {
  /** Rejects if the store cannot be read. */
  readStore(): Promise<void>
  readonly rings: readonly { readonly problem: { readonly reason: string } | undefined }[]
  readonly upstreams: readonly { readonly door: string; readonly findProblem: Component['findProblem'] }[]
}

/** The parts that must work for the server to be ready. Services are not among them: each serves only its own paths. */
export const listComponents = ({ readStore, rings, upstreams }: ComponentSources): readonly Component[] => [
  { name: 'store', findProblem: () => findStoreProblem(readStore) },
  // after a failed reload the old secrets stay in use, but a restart would fail and other nodes may have new ones
  { name: 'keys', findProblem: async () => rings.find(({ problem }) => problem)?.problem?.reason },
  ...upstreams.map(({ door, findProblem }) => ({ name: `upstream.${door}`, findProblem })),
]

async function findStoreProblem(readStore: () => Promise<void>): Promise<string | undefined> {
  try {
    await readStore()
    return undefined
  } catch (error) {
    return (error instanceof Refusal ? error.detail : undefined) ?? 'the store cannot be reached'
  }
}
