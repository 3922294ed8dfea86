// The sections `[provider:<name>]`: an identity provider whose tokens Cardea accepts. An option is written as
// `--provider:<name>.<option>` on the command line and `CARDEA_PROVIDER__<NAME>__<OPTION>` in the environment.
import { isSecureUrl } from '../../base/bounded-fetch.ts'
import {
  boolean,
  type Codec,
  commaListOf,
  matching,
  oneLine,
  oneWordOf,
  refuseValue,
  SECOND,
  seconds,
  secretText,
  timer,
  words,
} from '../../config/codecs.ts'
import { fixedRows, type Option, restart } from '../../config/option-table.ts'
import type { NamedEntry, NamedSection } from '../../config/options.ts'

const URL_FORM = 'an https:// URL, or http:// on a loopback address, without a query'
const isProviderUrl = (value: string): boolean => isSecureUrl(value) && !/[?#@\s]/.test(value)
const url: Codec<string> = {
  ...oneLine,
  expects: URL_FORM,
  parse: (value) => (value === '' || isProviderUrl(value) ? value : refuseValue(URL_FORM)),
}

/** Never a secret: a server that can verify with it could sign tokens. */
const ASYMMETRIC = /^(?:[RP]S(?:256|384|512)|ES(?:256|384|512)|EdDSA)$/
const TENANTS = 'tenant ids in small letters separated by commas, not common, organizations or consumers'
/** As `iss` has it. The excluded words are addresses for sign-ins of several tenants: no token has one. */
const TENANT_ID = /^(?!(?:common|organizations|consumers)$)[a-z0-9]+(?:[.-][a-z0-9]+)*$/
const SECRET_BYTES = 4096
const MAPPING = 'theirs=ours separated by commas, or *'
const CLAIM_PATH = /^[^\s"\\]*$/

const FIXED = 'it decides whose tokens are accepted'

const ROWS = fixedRows(FIXED, {
  issuer: restart(url, '', {
    help: 'The issuer: the exact value of `iss` in its tokens.',
    more: 'With {tenantid} in it, as Entra ID has, tenants lists the tenants that are accepted.',
  }),
  tenants: restart(words(TENANTS, TENANT_ID), [], 'Values of {tenantid} in the issuer.'),
  audience: restart(words('audiences separated by commas', /^\S+$/), [], {
    help: 'Accepted values of `aud` in access tokens.',
    more: 'A token of Keycloak has it only with a mapper of type Audience.',
  }),
  clients: restart(words('client ids separated by commas', /^\S+$/), [], {
    help: 'Clients whose access tokens are accepted (`azp` or `client_id`).',
    more: 'Empty: every client that the provider gives tokens for the audience.',
  }),
  scope: restart(words('scopes separated by commas', /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/), [], {
    help: 'Scopes that an access token must have, all of them (`scope` or `scp`).',
    more: 'Empty: none. ID tokens, with which browsers sign in, have no scope.',
  }),
  'client-id': restart(oneLine, '', {
    help: 'The client with which users sign in. Its ID tokens are never accepted as access tokens.',
    more: 'With it the sign-in page has a button for the provider. Register <console.public-url>/_cardea/sign-in/callback/<name> as its redirect URI.',
  }),
  'client-secret': restart(secretText(SECRET_BYTES), '', {
    help: 'Secret of that client. Empty: the client is public.',
    secret: true,
  }),
  scopes: restart(
    words('scopes separated by commas, with openid', /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/),
    ['openid', 'profile'],
    { help: 'What the sign-in page asks the provider for.' },
  ),
  'logout-token-type': restart(oneWordOf(['logout+jwt', 'any']), 'logout+jwt', {
    help: 'Accepted `typ` of its logout tokens (back-channel logout).',
    more: 'any: also JWT and none, as Keycloak before version 25 sends.',
  }),
  label: restart(oneLine, '', 'What the sign-in page calls the provider. Empty: its name.'),
  discovery: restart(url, '', {
    help: 'URL of the discovery document. Empty: the issuer with /.well-known/openid-configuration.',
    more: 'With several tenants, {tenantid} is organizations in it: the document of Entra ID for all of them.',
  }),
  'jwks-uri': restart(url, '', 'URL of the keys. Empty: the one in the discovery document.'),
  'keys-max-age': restart(timer(), 86_400 * SECOND, {
    help: 'Seconds for which the last keys are used while the provider cannot be reached.',
  }),
  algorithms: restart(
    words('asymmetric algorithms separated by commas', ASYMMETRIC),
    ['RS256', 'PS256', 'ES256', 'EdDSA'],
    { help: 'Accepted signature algorithms.' },
  ),
  'clock-skew': restart(seconds(0, 'zero', 300), 30, 'Seconds by which the clock of the provider may differ.'),
  users: restart(oneWordOf(['link', 'create', 'asserted']), 'link', {
    help: 'Who a token is.',
    more: 'link: the user that is linked to the external account. create: the same, and the first sign-in creates the user. asserted: no user of the directory; name and roles are those of the token.',
  }),
  names: restart(oneWordOf(['prefixed', 'as-is']), 'prefixed', {
    help: 'Names of asserted users: prefixed means <provider>/<name>.',
    more: 'With as-is, the provider decides who has the name of a local user. Names that are or look like those of administrators are refused.',
  }),
  'name-claim': restart(matching('a claim, or a path with dots', CLAIM_PATH), 'preferred_username', {
    help: 'Claim with the name of a created or asserted user. Without it: `sub`.',
  }),
  'roles-claim': restart(matching('a claim, or a path with dots', CLAIM_PATH), '', {
    help: 'Claim with roles, as a path: realm_access.roles. Empty: none.',
  }),
  'second-factor': restart(words('values separated by commas, or *', /^\S+$/), [], {
    help: 'Values of `amr` or `acr` with which the provider says that it asked for a second factor.',
    more: '* if it asks every user. Users with a role of admin.second-factor-roles are refused without such a value: in the browser, and with their tokens.',
  }),
  'trusts-email': restart(boolean, false, {
    help: 'Whether addresses that the provider calls verified (`email_verified`) are those of the users that it creates.',
    more: 'Only for a provider that has sent a message to each address, and lets no user choose the claim. A user whose address another user has already is created without it.',
  }),
  'role-map': restart(
    commaListOf(MAPPING, (item) => (/^(?:\*|[^=]+=[^=]+)$/.test(item) ? item : refuseValue(MAPPING))),
    [],
    {
      help: 'Roles of created and asserted users: theirs=ours. Other roles are dropped.',
      more: '* keeps every other role that does not begin with an underscore. _admin is given by its own entry only. Of such roles, users that are linked or created can get _metrics only.',
    },
  ),
})

export type ProviderValues = {
  readonly [K in keyof typeof ROWS]: (typeof ROWS)[K] extends Option<infer T> ? T : never
}

export type ProviderEntry = NamedEntry<ProviderValues>

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

/** Valid settings that do not do what their author may expect. */
const WARNINGS: readonly ((values: ProviderValues) => string | undefined)[] = [
  ({ audience }) =>
    audience.includes('account')
      ? 'every token of a realm of Keycloak has the audience account: add a mapper of type Audience, and name its audience here'
      : undefined,
  ({ 'trusts-email': isTrusted, users, scopes }) =>
    isTrusted && (users !== 'create' || !scopes.includes('email'))
      ? 'trusts-email needs users = create, and email among the scopes'
      : undefined,
  ({ issuer }) =>
    issuer === 'https://accounts.google.com'
      ? 'the access tokens of Google are no JWTs and are refused: only the sign-in page can use this provider'
      : undefined,
]

function checkProviders(entries: readonly ProviderEntry[]): ReturnType<NamedSection['check']> {
  const owners = new Map<string, string>()
  return entries.flatMap(({ name, values }) => {
    const found = CHECKS.flatMap((check) => check(values) ?? [])
    for (const issuer of listIssuers(values)) {
      const other = owners.get(issuer)
      if (other !== undefined) found.push(`[provider:${other}] has the issuer ${issuer} already`)
      owners.set(issuer, name)
    }
    const warnings = WARNINGS.flatMap((warn) => warn(values) ?? [])
    return [
      ...found.map((message) => ({ name, message })),
      ...warnings.map((message) => ({ name, message, isWarning: true })),
    ]
  })
}

const PROVIDER_SECTION: NamedSection<ProviderValues> = {
  help: 'Identity providers, one section each: [provider:<name>]. Access tokens that they sign are accepted at both doors. A flag is --provider:<name>.<option>, a variable CARDEA_PROVIDER__<NAME>__<OPTION>. Needs a restart. Cannot be changed at run time.',
  rows: ROWS,
  fixed: FIXED,
  sample: { name: 'keycloak', values: { issuer: 'https://id.example.com/realms/shop', audience: 'cardea' } },
  check: checkProviders,
}

export const providersOptions = { named: { provider: PROVIDER_SECTION } }

declare module '../../config/options.ts' {
  interface NamedValues {
    provider: ProviderValues
  }
}
