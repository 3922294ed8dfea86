// What `cardea check` finds beside the configuration: file modes, the store, certificates, upstream servers, the clock.
import { readdirSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findPublicOrigin } from '../auth/provider-sign-in.ts'
import { messageOf } from '../base/errors.ts'
import { SILENT_LOG } from '../base/log.ts'
import { readServices } from '../config/open-sections.ts'
import { findSecretFile } from '../config/secrets.ts'
import type { Settings } from '../config/settings.ts'
import type { UpstreamFinding } from '../gateway/upstream-check.ts'
import { ALGORITHMS } from '../keys/algorithms.ts'
import { fetchDiscovery, fetchKeys, type ProviderKeySet } from '../keys/provider-keys.ts'
import { checkCertificates } from '../live-config/certificates.ts'
import { listTlsSources } from '../live-config/endpoints.ts'
import { findStoreFile } from '../store/store-url.ts'
import { inspectUpstreams } from '../wiring/gateway.ts'
import { toProviderSettings } from '../wiring/settings.ts'
import { type Compared, checkClock, describeCompared, openClock } from './check-clock.ts'
import { type AreaFinding, type AreaFindings, checkGivenRoles, checkStore, type Machine } from './check-store.ts'
import { explainFailure, send } from './remote.ts'

interface Examined extends Machine, Compared {
  readonly probes: readonly ProbedUpstream[]
  readonly inspected: readonly UpstreamFinding[]
}

interface Area {
  readonly name: string
  /** Left out: always. */
  isConfigured?(settings: Settings): boolean
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
    name: 'certificates',
    find: findCertificates,
    ok: ({ settings }) => (listTlsSources(settings.values).length > 0 ? 'none expires soon' : 'none configured'),
  },
  {
    name: 'upstreams',
    find: checkUpstreams,
    ok: ({ probes }) => (probes.length > 0 ? 'all can be used' : 'no upstream configured'),
  },
  {
    name: 'providers',
    isConfigured: ({ open }) => open.provider.length > 0,
    find: checkProviders,
    ok: () => 'keys of all can be fetched',
  },
  { name: 'server', find: checkServer, ok: ({ server }) => (server ? 'ready' : 'not running') },
  {
    name: 'clock',
    find: checkClock,
    ok: describeCompared,
  },
]

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
    if (isConfigured?.(settings) === false) continue
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

/** What to do about a provider whose keys cannot be fetched, by the reason. */
const PROVIDER_ADVICE: readonly (readonly [reason: RegExp, advice: string])[] = [
  [/its issuer is/, 'Copy the issuer exactly, with or without the slash at its end.'],
  [/certificate/, 'Trust its authority with NODE_EXTRA_CA_CERTS=<file>, also when the server starts.'],
  [/redirects/, 'Name the address it redirects to, as issuer or as discovery.'],
  [
    /status 404|not a JSON object/,
    'In Keycloak, the issuer is https://<host>/realms/<realm>. Otherwise set discovery.',
  ],
]

/** Fetches what the server would fetch. */
async function checkProviders(examined: Examined): Promise<AreaFindings> {
  const { settings } = examined
  const found = settings.open.provider.map(async ({ name, values }): Promise<AreaFindings> => {
    const { place, client, algorithms } = toProviderSettings({ name, values })
    try {
      const keys = await fetchKeys(place)
      if (!algorithms.some((each) => hasKeyFor(keys, each, place.issuers[0])))
        throw new Error(
          `none of its keys is for ${algorithms.join(', ')}: compare algorithms with its signature algorithm`,
        )
      return values['client-id'] === ''
        ? []
        : await checkBrowserSignIn(`[provider:${name}]`, { place, client }, settings)
    } catch (error) {
      const [url, why] = [place.jwksUri || place.discovery, messageOf(error)]
      const [, advice = `Open ${url} from this machine, and compare issuer, discovery and jwks-uri.`] =
        PROVIDER_ADVICE.find(([reason]) => reason.test(why)) ?? []
      return [{ level: 'problem', message: `[provider:${name}] ${why}`, advice }]
    }
  })
  return [...(await Promise.all(found)).flat(), ...(await checkGivenRoles(examined))]
}

function hasKeyFor(keys: ProviderKeySet, name: string, issuer: string | undefined): boolean {
  const algorithm = ALGORITHMS.get(name)
  return algorithm !== undefined && keys.find({ algorithm, typ: undefined, kid: undefined }, issuer).kind === 'keys'
}

/** Why the sign-in page has no button for a provider with a client. */
async function checkBrowserSignIn(
  name: string,
  { place, client }: Pick<ReturnType<typeof toProviderSettings>, 'place' | 'client'>,
  { values }: Settings,
): Promise<AreaFindings> {
  const without = (message: string, advice: string): AreaFindings => [
    { level: 'warning', message: `${name} ${message}, so the sign-in page has no button for it`, advice },
  ]
  if (!client) return without('asserts its users', 'Set users to link or create, or remove client-id.')
  if (values.console['public-url'] === '')
    return without('has a client, but console.public-url is empty', 'Set it to the URL at which browsers reach Cardea.')
  if (findPublicOrigin(values.console['public-url']) === undefined)
    return without(
      'has a client, but console.public-url has a path',
      'Let the proxy forward /_cardea/ without a prefix.',
    )
  const { document } = await fetchDiscovery(place)
  const missing = ['authorization_endpoint', 'token_endpoint'].find((member) => document[member] === undefined)
  return missing ? without(`names no ${missing}`, 'Compare its discovery document.') : []
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
