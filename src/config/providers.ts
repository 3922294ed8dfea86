// The sections `[provider:<name>]`: reads and checks what the layers set.
import { findNearest } from '../base/nearest.ts'
import { PROVIDER_PREFIX } from './options.ts'
import { addProblem, type Notices, type Problem } from './problems.ts'
import { isProviderKey, PROVIDER_OPTIONS, type ProviderKey, type ProviderValues } from './provider-table.ts'
import { readAssigned } from './resolve.ts'
import type { SecretFiles } from './secrets.ts'
import { type Assignment, type ProviderEntry, renderSource } from './settings.ts'

/** The options of a provider, for help and for the reference page. */
export const PROVIDER_ROWS = Object.entries(PROVIDER_OPTIONS).map(([key, option]) => ({
  key,
  name: `${PROVIDER_PREFIX}<name>.${key}`,
  option,
}))

const NAME = /^[a-z][a-z0-9-]{0,31}$/

export const resolveProviders = (
  given: readonly Assignment[],
  secretFiles: SecretFiles,
  report: Notices,
): readonly ProviderEntry[] =>
  [...Map.groupBy(given, ({ section }) => section)].flatMap(([section, assignments]) => {
    const [first] = assignments
    const name = section.slice(PROVIDER_PREFIX.length)
    if (!first) return []
    if (!section.startsWith(PROVIDER_PREFIX) || !NAME.test(name)) {
      const why = 'name the section [provider:<name>]: small letters, digits and hyphens, beginning with a letter'
      addProblem(report, 'bad-value', first, why)
      return []
    }
    const last = new Map(assignments.map((assignment) => [assignment.key, assignment]))
    const read = [...last.values()].flatMap((each) => readValue(each, secretFiles, report))
    // has a value for each row of the table, because the defaults come first
    const values = Object.fromEntries([...DEFAULTS, ...read]) as unknown as ProviderValues
    return [{ name, values, source: first.source }]
  })

const DEFAULTS = Object.entries(PROVIDER_OPTIONS).map(([key, { initial }]) => [key, initial] as const)

function readValue(
  assignment: Assignment,
  secretFiles: SecretFiles,
  report: Notices,
): readonly (readonly [ProviderKey, unknown])[] {
  const { section, key, source } = assignment
  if (!isProviderKey(key)) {
    const nearest = findNearest(key, Object.keys(PROVIDER_OPTIONS))
    const problem = { place: renderSource(source), message: `unknown option [${section}] ${key}` }
    report.problems.push({ kind: 'unknown-option', ...problem, ...(nearest && { nearest }) })
    return []
  }
  const read = readAssigned(PROVIDER_OPTIONS[key], assignment, secretFiles, report)
  return read ? [[key, read.value]] : []
}

/** The place of a tenant in an issuer. */
const TENANT = '{tenantid}'

/** The values of `iss` that belong to a provider. */
export const listIssuers = ({ issuer, tenants }: ProviderValues): readonly string[] =>
  issuer.includes(TENANT) ? tenants.map((tenant) => issuer.replace(TENANT, tenant)) : [issuer]

/** The URL of the discovery document. Entra ID calls its document for users of every tenant `organizations`. */
export function findDiscovery({ issuer, tenants, discovery }: ProviderValues): string {
  const [tenant = '', ...others] = tenants
  const base = issuer.replace(TENANT, others.length > 0 ? 'organizations' : tenant).replace(/\/$/, '')
  return discovery || `${base}/.well-known/openid-configuration`
}

/** What is wrong with a provider by itself. */
const CHECKS: readonly ((values: ProviderValues) => string | undefined)[] = [
  ({ issuer }) => (issuer === '' ? 'issuer is missing' : undefined),
  ({ issuer, tenants }) =>
    issuer.includes(TENANT) === tenants.length > 0
      ? undefined
      : 'an issuer with {tenantid} needs the tenants that are accepted, and only such an issuer has tenants',
  ({ users, 'role-map': map }) =>
    users !== 'asserted' && map.some((item) => /=\s*_(?!metrics\s*$)/.test(item))
      ? 'role-map: _admin, and other roles with a leading underscore than _metrics, can be given to asserted users only'
      : undefined,
  ({ scopes }) => (scopes.includes('openid') ? undefined : 'scopes: openid is missing'),
  ({ audience }) => (audience.length > 0 ? undefined : 'audience is missing'),
]

export function checkProviders(entries: readonly ProviderEntry[]): readonly Problem[] {
  const owners = new Map<string, string>()
  return entries.flatMap(({ name, values, source }) => {
    const found = CHECKS.flatMap((check) => check(values) ?? [])
    for (const issuer of listIssuers(values)) {
      const other = owners.get(issuer)
      if (other !== undefined) found.push(`[provider:${other}] has the issuer ${issuer} already`)
      owners.set(issuer, name)
    }
    return found.map((why) => ({
      kind: 'bad-value' as const,
      place: renderSource(source),
      message: `[provider:${name}] ${why}`,
    }))
  })
}

/** Valid settings that do not do what their author may expect. */
const WARNINGS: readonly ((values: ProviderValues) => string | undefined)[] = [
  ({ audience }) =>
    audience.includes('account')
      ? 'every token of a realm of Keycloak has the audience account: add a mapper of type Audience, and name its audience here'
      : undefined,
  ({ issuer }) =>
    issuer === 'https://accounts.google.com'
      ? 'the access tokens of Google are no JWTs and are refused: only the sign-in page can use this provider'
      : undefined,
]

export const warnAboutProviders = (entries: readonly ProviderEntry[]): readonly string[] =>
  entries.flatMap(({ name, values }) =>
    WARNINGS.flatMap((warn) => warn(values) ?? []).map((why) => `[provider:${name}] ${why}`),
  )
