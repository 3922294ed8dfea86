// The options of each section `[provider:<name>]`: an identity provider whose tokens Cardea accepts. Written
// as `--provider:<name>.<option>` on the command line and `CARDEA_PROVIDER__<NAME>__<OPTION>` in the environment.
import { isSecureUrl } from '../base/bounded-fetch.ts'
import { type Codec, listOf, matching, oneOf, refuse, seconds, secretText, text, timer, words } from './codecs.ts'
import { type Description, FIXED, type Option, restart } from './option-table.ts'

const URL_FORM = 'an https:// URL, or http:// on a loopback address, without a query'
const isProviderUrl = (value: string): boolean => isSecureUrl(value) && !/[?#@\s]/.test(value)
const url: Codec<string> = {
  ...text,
  expects: URL_FORM,
  parse: (value) => (value === '' || isProviderUrl(value) ? value : refuse(URL_FORM)),
}

/** Never a secret: a server that can verify with it could sign tokens. */
const ASYMMETRIC = /^(?:[RP]S(?:256|384|512)|ES(?:256|384|512)|EdDSA)$/
const TENANTS = 'tenant ids in small letters separated by commas, not common, organizations or consumers'
/** As `iss` has it. The excluded words are addresses for sign-ins of several tenants: no token has one. */
const TENANT_ID = /^(?!(?:common|organizations|consumers)$)[a-z0-9]+(?:[.-][a-z0-9]+)*$/
const SECRET_BYTES = 4096
const MAPPING = 'theirs=ours separated by commas, or *'
const CLAIM_PATH = /^[^\s"\\]*$/

const row = <T>(codec: Codec<T>, initial: NoInfer<T>, description: Description): Option<T> =>
  Object.freeze({ ...restart(codec, initial, description), fixed: FIXED.provider })

export const PROVIDER_OPTIONS = {
  issuer: row(url, '', {
    help: 'The issuer: the exact value of `iss` in its tokens.',
    more: 'With {tenantid} in it, as Entra ID has, tenants lists the tenants that are accepted.',
  }),
  tenants: row(words(TENANTS, TENANT_ID), [], 'Values of {tenantid} in the issuer.'),
  audience: row(words('audiences separated by commas', /^\S+$/), [], {
    help: 'Accepted values of `aud` in access tokens.',
    more: 'A token of Keycloak has it only with a mapper of type Audience.',
  }),
  clients: row(words('client ids separated by commas', /^\S+$/), [], {
    help: 'Clients whose access tokens are accepted (`azp` or `client_id`).',
    more: 'Empty: every client that the provider gives tokens for the audience.',
  }),
  scope: row(words('scopes separated by commas', /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/), [], {
    help: 'Scopes that an access token must have, all of them (`scope` or `scp`).',
    more: 'Empty: none. ID tokens, with which browsers sign in, have no scope.',
  }),
  'client-id': row(text, '', {
    help: 'The client with which users sign in. Its ID tokens are never accepted as access tokens.',
    more: 'With it the sign-in page has a button for the provider. Register <console.public-url>/_cardea/sign-in/callback/<name> as its redirect URI.',
  }),
  'client-secret': row(secretText(SECRET_BYTES), '', {
    help: 'Secret of that client. Empty: the client is public.',
    secret: true,
  }),
  scopes: row(
    words('scopes separated by commas, with openid', /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/),
    ['openid', 'profile'],
    { help: 'What the sign-in page asks the provider for.' },
  ),
  'logout-token-type': row(oneOf(['logout+jwt', 'any']), 'logout+jwt', {
    help: 'Accepted `typ` of its logout tokens (back-channel logout).',
    more: 'any: also JWT and none, as Keycloak before version 25 sends.',
  }),
  label: row(text, '', 'What the sign-in page calls the provider. Empty: its name.'),
  discovery: row(url, '', {
    help: 'URL of the discovery document. Empty: the issuer with /.well-known/openid-configuration.',
    more: 'With several tenants, {tenantid} is organizations in it: the document of Entra ID for all of them.',
  }),
  'jwks-uri': row(url, '', 'URL of the keys. Empty: the one in the discovery document.'),
  'keys-max-age': row(timer(), 86_400, {
    help: 'Seconds for which the last keys are used while the provider cannot be reached.',
  }),
  algorithms: row(
    words('asymmetric algorithms separated by commas', ASYMMETRIC),
    ['RS256', 'PS256', 'ES256', 'EdDSA'],
    { help: 'Accepted signature algorithms.' },
  ),
  'clock-skew': row(seconds(0, 'zero', 300), 30, 'Seconds by which the clock of the provider may differ.'),
  users: row(oneOf(['link', 'create', 'asserted']), 'link', {
    help: 'Who a token is.',
    more: 'link: the user that is linked to the external account. create: the same, and the first sign-in creates the user. asserted: no user of the directory; name and roles are those of the token.',
  }),
  names: row(oneOf(['prefixed', 'as-is']), 'prefixed', {
    help: 'Names of asserted users: prefixed means <provider>/<name>.',
    more: 'With as-is, the provider decides who has the name of a local user. Names that are or look like those of administrators are refused.',
  }),
  'name-claim': row(matching('a claim, or a path with dots', CLAIM_PATH), 'preferred_username', {
    help: 'Claim with the name of a created or asserted user. Without it: `sub`.',
  }),
  'roles-claim': row(matching('a claim, or a path with dots', CLAIM_PATH), '', {
    help: 'Claim with roles, as a path: realm_access.roles. Empty: none.',
  }),
  'second-factor': row(words('values separated by commas, or *', /^\S+$/), [], {
    help: 'Values of `amr` or `acr` with which the provider says that it asked for a second factor.',
    more: '* if it asks every user. Users with a role of admin.second-factor-roles are refused without such a value: in the browser, and with their tokens.',
  }),
  'role-map': row(
    listOf(MAPPING, (item) => (/^(?:\*|[^=]+=[^=]+)$/.test(item) ? item : refuse(MAPPING))),
    [],
    {
      help: 'Roles of created and asserted users: theirs=ours. Other roles are dropped.',
      more: '* keeps every other role that does not begin with an underscore. _admin is given by its own entry only. Of such roles, users that are linked or created can get _metrics only.',
    },
  ),
} as const

type Table = typeof PROVIDER_OPTIONS
export type ProviderKey = keyof Table
export type ProviderValues = {
  readonly [K in ProviderKey]: Table[K] extends Option<infer T> ? T : never
}

export const isProviderKey = (key: string): key is ProviderKey => Object.hasOwn(PROVIDER_OPTIONS, key)
