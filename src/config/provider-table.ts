// The options of each section `[provider:<name>]`: an identity provider whose tokens Cardea accepts. Written
// as `--provider:<name>.<option>` on the command line and `CARDEA_PROVIDER__<NAME>__<OPTION>` in the environment.
import { isSecureUrl } from '../base/bounded-fetch.ts'
import { type Codec, listOf, matching, oneOf, refuse, seconds, secretText, text, timer, words } from './codecs.ts'
import { FIXED, type Option } from './option-table.ts'

const URL_FORM = 'an https:// URL, or http:// on a loopback address, without a query'
const isProviderUrl = (value: string): boolean => isSecureUrl(value) && !/[?#@\s]/.test(value)
const url: Codec<string> = {
  ...text,
  expects: URL_FORM,
  parse: (value) => (value === '' || isProviderUrl(value) ? value : refuse(URL_FORM)),
}

/** Never a secret: a server that can verify with it could sign tokens. */
const ASYMMETRIC = /^(?:[RP]S(?:256|384|512)|ES(?:256|384|512)|EdDSA)$/
const SECRET_BYTES = 4096
const MAPPING = 'theirs=ours separated by commas, or *'
const CLAIM_PATH = /^[^\s"\\]*$/

type Row<T> = Omit<Option<T>, 'initial' | 'reload' | 'fixed'> & { readonly initial: NoInfer<T> }

const row = <T>(given: Row<T>): Option<T> => Object.freeze({ ...given, reload: 'restart', fixed: FIXED.provider })

export const PROVIDER_OPTIONS = {
  issuer: row({
    codec: url,
    initial: '',
    help: 'The issuer: the exact value of `iss` in its tokens.',
    details: 'With {tenantid} in it, as Entra ID has, tenants lists the tenants that are accepted.',
  }),
  tenants: row({
    codec: words('tenant ids separated by commas', /^[A-Za-z0-9.-]+$/),
    initial: [],
    help: 'Values of {tenantid} in the issuer.',
  }),
  audience: row({
    codec: words('audiences separated by commas', /^\S+$/),
    initial: [],
    help: 'Accepted values of `aud` in access tokens.',
    details: 'A token of Keycloak has it only with a mapper of type Audience.',
  }),
  clients: row({
    codec: words('client ids separated by commas', /^\S+$/),
    initial: [],
    help: 'Clients whose access tokens are accepted (`azp` or `client_id`).',
    details: 'Empty: every client that the provider gives tokens for the audience.',
  }),
  'client-id': row({
    codec: text,
    initial: '',
    help: 'The client with which users sign in. Its ID tokens are never accepted as access tokens.',
    details:
      'With it the sign-in page has a button for the provider. Register <console.public-url>/_cardea/sign-in/callback/<name> as its redirect URI.',
  }),
  'client-secret': row({
    codec: secretText(SECRET_BYTES),
    initial: '',
    help: 'Secret of that client. Empty: the client is public.',
    secret: true,
  }),
  scopes: row({
    codec: words('scopes separated by commas, with openid', /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/),
    initial: ['openid', 'profile'],
    help: 'What the sign-in page asks the provider for.',
  }),
  label: row({
    codec: text,
    initial: '',
    help: 'What the sign-in page calls the provider. Empty: its name.',
  }),
  discovery: row({
    codec: url,
    initial: '',
    help: 'URL of the discovery document. Empty: the issuer with /.well-known/openid-configuration.',
  }),
  'jwks-uri': row({
    codec: url,
    initial: '',
    help: 'URL of the keys. Empty: the one in the discovery document.',
  }),
  'keys-max-age': row({
    codec: timer(),
    initial: 86_400,
    help: 'Seconds for which the last keys are used while the provider cannot be reached.',
  }),
  algorithms: row({
    codec: words('asymmetric algorithms separated by commas', ASYMMETRIC),
    initial: ['RS256', 'PS256', 'ES256', 'EdDSA'],
    help: 'Accepted signature algorithms.',
  }),
  'clock-skew': row({
    codec: seconds(0, 'zero', 300),
    initial: 30,
    help: 'Seconds by which the clock of the provider may differ.',
  }),
  users: row({
    codec: oneOf(['link', 'create', 'asserted']),
    initial: 'link',
    help: 'Who a token is.',
    details:
      'link: the user that is linked to the external account. create: the same, and the first sign-in creates the user. asserted: no user of the directory; name and roles are those of the token.',
  }),
  names: row({
    codec: oneOf(['prefixed', 'as-is']),
    initial: 'prefixed',
    help: 'Names of asserted users: prefixed means <provider>/<name>.',
    details:
      'With as-is, the provider decides who has the name of a local user. Names that are or look like those of administrators are refused.',
  }),
  'name-claim': row({
    codec: matching('a claim, or a path with dots', CLAIM_PATH),
    initial: 'preferred_username',
    help: 'Claim with the name of a created or asserted user. Without it: `sub`.',
  }),
  'roles-claim': row({
    codec: matching('a claim, or a path with dots', CLAIM_PATH),
    initial: '',
    help: 'Claim with roles, as a path: realm_access.roles. Empty: none.',
  }),
  'second-factor': row({
    codec: words('values separated by commas, or *', /^\S+$/),
    initial: [],
    help: 'Values of `amr` or `acr` with which the provider says that it asked for a second factor.',
    details:
      '* if it asks every user. Users with a role of admin.second-factor-roles are refused without such a value: in the browser, and with their tokens.',
  }),
  'role-map': row({
    codec: listOf(MAPPING, (item) => (/^(?:\*|[^=]+=[^=]+)$/.test(item) ? item : refuse(MAPPING))),
    initial: [],
    help: 'Roles of created and asserted users: theirs=ours. Other roles are dropped.',
    details:
      '* keeps every other role that does not begin with an underscore. _admin is given by its own entry only. Of such roles, users that are linked or created can get _metrics only.',
  }),
} as const

type Table = typeof PROVIDER_OPTIONS
export type ProviderKey = keyof Table
export type ProviderValues = {
  readonly [K in ProviderKey]: Table[K] extends Option<infer T> ? T : never
}

export const isProviderKey = (key: string): key is ProviderKey => Object.hasOwn(PROVIDER_OPTIONS, key)
