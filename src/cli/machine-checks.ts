// What `cardea check` finds beside the configuration: file modes, the store, certificates, upstream servers, the clock.
import { readdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SILENT_LOG } from '../base/log.ts'
import { readServices } from '../config/open-sections.ts'
import { withSuggestion } from '../config/problems.ts'
import { findSecretFile } from '../config/secrets.ts'
import type { Settings } from '../config/settings.ts'
import type { UpstreamFinding } from '../gateway/upstream-check.ts'
import { checkCertificates } from '../live-config/certificates.ts'
import { listTlsSources } from '../live-config/endpoints.ts'
import { listStrayLimits, readKeys } from '../live-config/key-sets.ts'
import { mayStoreExist } from '../live-config/load.ts'
import type { CheckFlags, FindDatabase } from '../modules/module.ts'
import { MODULE_CHECKS } from '../modules.ts'
import { findStoreFile } from '../store/store-url.ts'
import { inspectUpstreams, openAskedDatabases } from '../wiring/upstreams.ts'
import { type Compared, checkClock, describeCompared, openClock } from './check-clock.ts'
import { checkPostgres } from './check-postgres.ts'
import { type AreaFinding, type AreaFindings, checkStore, type Machine } from './check-store.ts'
import { explainFailure, send } from './remote.ts'
import { renderNames } from './table.ts'

interface Examined extends Machine, Compared {
  readonly probes: readonly ProbedUpstream[]
  readonly inspected: readonly UpstreamFinding[]
}

interface Area {
  readonly name: string
  /** Left out: always. */
  isConfigured?(settings: Settings, flags: CheckFlags): boolean
  find(examined: Examined): AreaFindings | Promise<AreaFindings>
  /** What to print without a finding. */
  ok(examined: Examined): string
}

const AREAS: readonly Area[] = [
  { name: 'files', find: checkModes, ok: () => 'secret files are private' },
  {
    name: 'store',
    find: checkStore,
    ok: ({ settings }) => (findStoreFile(settings.values.store.url) ? 'can be read and written' : 'can be read'),
  },
  {
    name: 'postgresql',
    isConfigured: ({ values }) => /^postgres/.test(values.store.url),
    find: checkPostgres,
    ok: () => 'can be used',
  },
  {
    name: 'keys',
    isConfigured: ({ open }) => open.jwt_keys.length > 0,
    find: checkKeys,
    ok: () => 'every key of [jwt_keys] has limits',
  },
  {
    name: 'certificates',
    find: findCertificates,
    ok: ({ settings }) => (listTlsSources(settings.values).length > 0 ? 'none expires soon' : 'none configured'),
  },
  {
    name: 'upstreams',
    find: checkUpstreams,
    ok: ({ probes }) => (probes.length > 0 ? 'all can be used' : 'no upstream configured'),
  },
  ...MODULE_CHECKS.map(
    ({ ok, find, ...area }): Area => ({
      ...area,
      find: async ({ settings, storeProblem, flags }) => {
        const hasStore = storeProblem === undefined && mayStoreExist(settings.values.store.url)
        const found = await askDatabases(settings, (findDatabase) => find(settings, { hasStore, findDatabase, flags }))
        return found.map(({ names, message, ...rest }) => ({
          ...rest,
          message: names ? `${message}: ${renderNames(names)}` : message,
        }))
      },
      ok: () => ok,
    }),
  ),
  { name: 'server', find: checkServer, ok: ({ server }) => (server ? 'ready' : 'not running') },
  {
    name: 'clock',
    find: checkClock,
    ok: describeCompared,
  },
]

async function askDatabases<T>({ values }: Settings, work: (find: FindDatabase) => Promise<T>): Promise<T> {
  const databases = await openAskedDatabases(values, SILENT_LOG)
  return work(databases.find).finally(databases.close)
}

export async function checkMachine(machine: Machine, nowMs = Date.now()): Promise<readonly AreaFinding[]> {
  const { settings } = machine
  const [probes, inspected, clock] = await Promise.all([
    probeUpstreams(settings),
    inspectUpstreams(settings.values, SILENT_LOG),
    openClock(machine, nowMs),
  ])
  const examined = { ...machine, probes, inspected, nowMs, clock }
  const findings: AreaFinding[] = []
  for (const { name: area, isConfigured, find, ok } of AREAS) {
    if (isConfigured?.(settings, machine.flags) === false) continue
    const found = await find(examined)
    if (found.length === 0) findings.push({ level: 'ok', area, message: ok(examined) })
    else findings.push(...found.map((finding) => ({ ...finding, area })))
  }
  return findings
}

interface NamedFile {
  readonly name: string
  readonly path: string
}

/** Others must not read a secret; the group of the server may. */
const TOO_OPEN = 0o037

function checkModes({ settings, cwd }: Examined): AreaFindings {
  return listSecretFiles(settings, cwd).flatMap(({ name, path }): AreaFindings => {
    const found = statSync(path, { throwIfNoEntry: false })
    if (!found?.isFile() || (found.mode & TOO_OPEN) === 0) return []
    const message = `${path} (${name}) can be read or written by others`
    return [{ level: 'warning', message, advice: `chmod 600 ${path}` }]
  })
}

function listSecretFiles(
  { values: { server, upstream, audit, ssl, store }, entries }: Settings,
  cwd: string,
): NamedFile[] {
  const files: readonly NamedFile[] = [
    { name: 'server.jwt-secret-keyfile', path: server['jwt-secret-keyfile'] },
    { name: 'upstream.multi-model-secret-keyfile', path: upstream['multi-model-secret-keyfile'] },
    { name: 'upstream.service-keyfile', path: upstream['service-keyfile'] },
    { name: 'audit.key-file', path: audit['key-file'] },
    { name: 'audit.webhook-key-file', path: audit['webhook-key-file'] },
    { name: 'ssl.key_file', path: ssl.key_file },
    { name: 'ssl.keyfile', path: ssl.keyfile },
    { name: 'store.url', path: findStoreFile(store.url) ?? '' },
  ]
  const folders: readonly NamedFile[] = [
    { name: 'server.jwt-secret-folder', path: server['jwt-secret-folder'] },
    { name: 'upstream.multi-model-secret-folder', path: upstream['multi-model-secret-folder'] },
  ]
  const referenced = entries.map((entry) => ({
    name: `${entry.section}.${entry.key}`,
    path: findSecretFile(entry, cwd) ?? '',
  }))
  return [...files, ...folders.flatMap(listFolder), ...referenced].filter(({ path }) => path !== '')
}

const listFolder = ({ name, path }: NamedFile): readonly NamedFile[] =>
  path === '' ? [] : readdirSync(path).map((file) => ({ name, path: join(path, file) }))

function checkKeys({ settings }: Examined): AreaFindings {
  const read = readKeys(settings.open)
  const { keys, problems } = read
  const unlimited = keys.filter(([, { limits }]) => limits === undefined)
  return [
    ...problems.map(({ name, reason }) => ({ level: 'warning' as const, message: `[jwt_keys] ${name}: ${reason}` })),
    ...listStrayLimits(settings.open, read).map(({ message, nearest, isFatal }) => ({
      level: isFatal ? ('problem' as const) : ('warning' as const),
      message: withSuggestion(message, nearest),
      advice: 'Remove the limits, or correct their name.',
    })),
    ...unlimited.map(([name]) => ({
      level: 'warning' as const,
      message: `[jwt_keys] ${name} has no limits: its tokens can have any name, and the role _admin`,
      advice: `[jwt_key_limits] ${name} = names=NAME,PREFIX* roles=ROLE until=YYYY-MM-DD`,
    })),
  ]
}

const RENEW = 'Renew it: a running server uses the new file within seconds. If it is not valid yet, check the clock.'

function findCertificates({ settings: { values }, nowMs }: Examined): AreaFindings {
  return checkCertificates(values, nowMs).map(({ message, isOutdated }) => ({
    level: isOutdated ? 'problem' : 'warning',
    message,
    advice: RENEW,
  }))
}

/** By the same inspection as the running server's. */
function checkUpstreams({ probes, inspected }: Examined): AreaFindings {
  const unreached = probes.flatMap(({ option, url, error }): AreaFindings => {
    if (error === undefined) return []
    const message = `${option}: ${url} cannot be reached: ${error}`
    return [{ level: 'problem', message, advice: `Start that server, or correct ${option}.` }]
  })
  const unusable = inspected
    .filter(({ problem }) => problem !== 'unreachable')
    .map(({ upstream, problem, reason, check }) => ({
      level: 'problem' as const,
      message: `${upstream} ${problem}: ${reason}`,
      advice: check,
    }))
  return [...unreached, ...unusable]
}

function checkServer({ server }: Examined): AreaFindings {
  if (server === undefined) return []
  if (typeof server === 'string') return [{ level: 'problem', message: server }]
  return server.parts.flatMap(({ name, state, problem }): AreaFindings => {
    if (state === 'ok') return []
    const isFailed = state === 'failed'
    return [
      {
        level: isFailed ? 'problem' : 'warning',
        message: `${isFailed ? 'not ready: ' : ''}${name}: ${problem}`,
      },
    ]
  })
}

/** The response of an upstream server, or why there is none. */
export interface ProbedUpstream {
  readonly option: string
  readonly url: string
  readonly error?: string
  /** Its clock, from the header `Date`. */
  readonly dateMs?: number
}

const TIMEOUT_MS = 5000

/** Sends one request without a credential to every upstream server and service. Any response counts. */
async function probeUpstreams({ values: { upstream }, open }: Settings): Promise<readonly ProbedUpstream[]> {
  const file = upstream['ca-file']
  const ca = file === '' ? undefined : await readFile(file).catch(() => null)
  if (ca === null) return [{ option: 'upstream.ca-file', url: file, error: 'the file cannot be read' }]
  const places = [
    ...upstream.document.map((url) => ['upstream.document', url] as const),
    ...upstream['multi-model'].map((url) => ['upstream.multi-model', url] as const),
    ...readServices(open.services).map(({ name, url }) => [`services.${name}`, url] as const),
  ]
  return Promise.all(places.map(async ([option, url]) => ({ option, url, ...(await probe(url, ca)) })))
}

async function probe(url: string, ca: Buffer | undefined): Promise<Pick<ProbedUpstream, 'error' | 'dateMs'>> {
  try {
    const response = await send(new URL(url), { ca, timeoutMs: TIMEOUT_MS })
    response.destroy()
    const dateMs = Date.parse(response.headers.date ?? '')
    return Number.isNaN(dateMs) ? {} : { dateMs }
  } catch (error) {
    return { error: explainFailure(error, 'upstream.ca-file') }
  }
}
