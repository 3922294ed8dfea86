import { isSameSecret, trimHmacKey } from '../base/compare.ts'
import { readBase64 } from '../base/encoding.ts'
import { type EndpointOption, isStoreInMemory } from './addresses.ts'
import { type AllValues, type Config, type OptionName, type Rule, splitName } from './options.ts'
import { countWorkers } from './workers.ts'

/** A rule with one message. */
const conflict = (about: Rule['about'], message: string, isBroken: (values: Config) => boolean): Rule => ({
  about,
  check: ({ values }) => (isBroken(values) ? message : undefined),
})

type Listener = { readonly host: string; readonly port: number }

const plainEndpoints = (endpoints: readonly EndpointOption[]): readonly Listener[] =>
  endpoints.flatMap((endpoint) => (endpoint.kind === 'tcp' ? [endpoint] : []))

/** Listeners without TLS, by the option that names their address. */
const PLAIN_LISTENERS: readonly (readonly [OptionName, (values: Config) => readonly Listener[]])[] = [
  [
    'chttpd.bind_address',
    ({ chttpd }) => (chttpd.port === 'none' ? [] : [{ host: chttpd.bind_address, port: chttpd.port }]),
  ],
  ['server.endpoint', ({ server }) => plainEndpoints(server.endpoint)],
  ['admin.endpoint', ({ admin }) => plainEndpoints(admin.endpoint)],
]

const LOOPBACK = /^(?:127\.|::1$|localhost$)/

const exposureRules = PLAIN_LISTENERS.map(
  ([name, listenersOf]): Rule => ({
    about: [name],
    kind: 'warning',
    check: ({ values }) => {
      const exposed = listenersOf(values).find(({ host }) => !LOOPBACK.test(host))
      if (!exposed) return undefined
      return `${name}: other machines can reach ${exposed.host} port ${exposed.port} without TLS, and read passwords on the network; use TLS, or a loopback address behind a proxy that does`
    },
  }),
)

export const RULES: readonly Rule[] = [
  conflict(
    ['auth.minimal-jwt-expiry-time', 'auth.maximal-jwt-expiry-time'],
    'auth.minimal-jwt-expiry-time must not be greater than auth.maximal-jwt-expiry-time',
    ({ auth }) => auth['minimal-jwt-expiry-time'] > auth['maximal-jwt-expiry-time'],
  ),
  conflict(
    ['chttpd_auth.min_iterations', 'chttpd_auth.max_iterations'],
    'chttpd_auth.min_iterations must not be greater than chttpd_auth.max_iterations',
    ({ chttpd_auth: auth }) => auth.min_iterations > auth.max_iterations,
  ),
  ...exposureRules,
  {
    about: ['server.workers', 'store.url'],
    kind: 'bad-value',
    check: ({ values: { server, store } }) =>
      isStoreInMemory(store.url) && Number(server.workers) > 1
        ? `server.workers: ${server.workers} processes cannot share a store in memory; use 1, or a file in store.url`
        : undefined,
  },
  {
    about: ['store.max-connections', 'server.workers'],
    kind: 'warning',
    check: ({ values }) => {
      const all = values.store['max-connections']
      const needed = 2 * countWorkers(values)
      return values.store.url.startsWith('postgres') && needed > all
        ? `store.max-connections: each worker needs two connections to PostgreSQL, so up to ${needed} are opened instead of ${all}; use at least ${needed}, or fewer server.workers`
        : undefined
    },
  },
  {
    about: ['chttpd_auth.iterations', 'chttpd_auth.min_iterations', 'chttpd_auth.max_iterations'],
    // quirk: CouchDB accepts it. New passwords are hashed within the limits all the same.
    kind: 'warning',
    check: ({ values: { chttpd_auth: auth } }) => {
      const { iterations, min_iterations: min, max_iterations: max } = auth
      const isWithin = (iterations >= min && iterations <= max) || auth.password_scheme === 'simple'
      return isWithin
        ? undefined
        : `chttpd_auth.iterations is not between min_iterations and max_iterations: the nearest value from ${min} to ${max} is used`
    },
  },
  {
    about: ['jwt_auth.roles_claim_name', 'jwt_auth.roles_claim_path'],
    kind: 'warning',
    check: ({ values: { jwt_auth: jwt } }) =>
      jwt.roles_claim_name !== '' && jwt.roles_claim_path !== ''
        ? {
            message: 'jwt_auth.roles_claim_name is ignored, because jwt_auth.roles_claim_path is set',
            about: [['jwt_auth', 'roles_claim_name']],
          }
        : undefined,
  },
  conflict(
    ['server.jwt-secret-keyfile', 'server.jwt-secret-folder'],
    "please specify either '--server.jwt-secret-keyfile' or '--server.jwt-secret-folder' but not both.",
    ({ server }) => server['jwt-secret-keyfile'] !== '' && server['jwt-secret-folder'] !== '',
  ),
  conflict(
    ['upstream.multi-model-secret-keyfile', 'upstream.multi-model-secret-folder'],
    'give upstream.multi-model-secret-keyfile or upstream.multi-model-secret-folder, not both',
    ({ upstream }) => upstream['multi-model-secret-keyfile'] !== '' && upstream['multi-model-secret-folder'] !== '',
  ),
  conflict(
    ['upstream.document', 'upstream.document-secret'],
    'upstream.document needs upstream.document-secret, with which CouchDB verifies the identity of the user',
    ({ upstream }) => upstream.document.length > 0 && upstream['document-secret'] === '',
  ),
  conflict(
    ['upstream.multi-model', 'upstream.multi-model-secret-keyfile', 'upstream.multi-model-secret-folder'],
    'upstream.multi-model needs upstream.multi-model-secret-keyfile or -folder, or upstream.multi-model-identity = client',
    ({ upstream }) => {
      const isSigned = upstream['multi-model'].length > 0 && upstream['multi-model-identity'] === 'user'
      return isSigned && !upstream['multi-model-secret-keyfile'] && !upstream['multi-model-secret-folder']
    },
  ),
  conflict(
    ['cors.origins', 'cors.credentials'],
    'cors.credentials = true needs origins by name, neither * nor null',
    // every sandboxed frame has the origin `null`, so it is as open as `*`
    ({ cors }) => cors.credentials && cors.origins.some((origin) => origin === '*' || origin === 'null'),
  ),
  {
    about: ['cors.credentials', 'chttpd_auth.same_site'],
    kind: 'warning',
    check: ({ values: { cors, chttpd_auth: auth } }) =>
      cors.credentials && (auth.same_site === 'lax' || auth.same_site === 'strict')
        ? `cors.credentials is true, but with chttpd_auth.same_site = ${auth.same_site} browsers do not send the session cookie from pages of other sites; if an origin is of another site, set same_site to none and serve TLS`
        : undefined,
  },
  conflict(
    ['chttpd_auth.cookie_partitioned', 'chttpd_auth.same_site'],
    'chttpd_auth.cookie_partitioned needs chttpd_auth.same_site = none',
    ({ chttpd_auth: auth }) => auth.cookie_partitioned && auth.same_site !== 'none',
  ),
  conflict(
    ['server.endpoint', 'admin.endpoint', 'metrics.endpoint', 'ssl.keyfile'],
    'an ssl:// endpoint needs ssl.keyfile',
    ({ server, admin, metrics, ssl }) =>
      ssl.keyfile === '' && [server, admin, metrics].some((each) => each.endpoint.some(({ kind }) => kind === 'ssl')),
  ),
  conflict(
    ['ssl.enable', 'ssl.cert_file', 'ssl.key_file'],
    'ssl.enable needs ssl.cert_file and ssl.key_file',
    ({ ssl }) => ssl.enable && (ssl.cert_file === '' || ssl.key_file === ''),
  ),
  conflict(
    ['chttpd_auth.cookie_host_prefix', 'chttpd_auth.cookie_domain'],
    'with chttpd_auth.cookie_host_prefix browsers reject a cookie that has a domain: remove chttpd_auth.cookie_domain',
    ({ chttpd_auth: auth }) => auth.cookie_host_prefix && auth.cookie_domain !== '',
  ),
  conflict(
    ['ssl.client-ca', 'ssl.client-crl'],
    'ssl.client-crl needs ssl.client-ca',
    ({ ssl }) => ssl['client-crl'] !== '' && ssl['client-ca'] === '',
  ),
  {
    about: ['ssl.client-ca', 'ssl.enable', 'server.endpoint'],
    kind: 'warning',
    check: ({ values: { ssl, server } }) => {
      const hasTls = ssl.enable || server.endpoint.some(({ kind }) => kind === 'ssl')
      return ssl['client-ca'] === '' || hasTls
        ? undefined
        : 'ssl.client-ca has no effect, because no door serves TLS: set ssl.enable or use ssl:// in server.endpoint'
    },
  },
  conflict(
    ['chttpd.port', 'ssl.enable', 'ssl.port', 'server.endpoint'],
    'both doors are switched off',
    ({ chttpd, ssl, server }) =>
      chttpd.port === 'none' && !(ssl.enable && ssl.port !== 'none') && server.endpoint.length === 0,
  ),
  conflict(
    ['chttpd_auth.x_auth_username', 'chttpd_auth.x_auth_roles', 'chttpd_auth.x_auth_token'],
    'the headers of proxy authentication must have different names',
    ({ chttpd_auth: auth }) => {
      const names = [auth.x_auth_username, auth.x_auth_roles, auth.x_auth_token].filter((name) => name !== '')
      return new Set(names.map((name) => name.toLowerCase())).size < names.length
    },
  ),
  {
    about: ['chttpd_auth.secret', 'server.jwt-secret', 'upstream.document-secret'],
    check: (given) => {
      const pair = findEqual(secretsOf(given))
      return pair && { message: `${pair.join(' and ')} must be different secrets`, about: pair.map(toRulePlace) }
    },
  },
  conflict(
    [
      'server.jwt-secret-keyfile',
      'server.jwt-secret-folder',
      'upstream.multi-model-secret-keyfile',
      'upstream.multi-model-secret-folder',
    ],
    'the secrets of server.jwt-secret-* and upstream.multi-model-secret-* must be different',
    ({ server, upstream }) => {
      const own = [server['jwt-secret-keyfile'], server['jwt-secret-folder']].filter((path) => path !== '')
      const theirs = [upstream['multi-model-secret-keyfile'], upstream['multi-model-secret-folder']]
      return own.some((path) => theirs.includes(path))
    },
  ),
]

type NamedSecret = readonly [name: string, secret: Uint8Array]

function secretsOf({ values, open }: AllValues): NamedSecret[] {
  const inline: NamedSecret[] = [
    ['chttpd_auth.secret', Buffer.from(values.chttpd_auth.secret)],
    ['server.jwt-secret', Buffer.from(values.server['jwt-secret'])],
    ['upstream.document-secret', Buffer.from(values.upstream['document-secret'])],
  ]
  const keys = open.jwt_keys
    .filter(({ key }) => key.startsWith('hmac:'))
    .map(({ key, text }): NamedSecret => [`${KEY_PREFIX}${key}`, readBase64(text) ?? Buffer.alloc(0)])
  return [...inline, ...keys]
    .filter(([, secret]) => secret.length > 0)
    .map(([name, secret]) => [name, trimHmacKey(secret)] as const)
}

/** Before the name of a key where secrets are listed. */
export const KEY_PREFIX = '[jwt_keys] '

/** Where the option or key of this name is. */
export function toRulePlace(name: string): readonly [section: string, key: string] {
  if (name.startsWith(KEY_PREFIX)) return ['jwt_keys', name.slice(KEY_PREFIX.length)]
  const { section, key } = splitName(name)
  return [section, key]
}

/** Two keys of `[jwt_keys]` may be equal (an old name kept for a while); secrets with different uses must differ. */
function findEqual(secrets: readonly NamedSecret[]): readonly [string, string] | undefined {
  const isKey = (name: string) => name.startsWith('[')
  for (const [index, [name, secret]] of secrets.entries()) {
    const twin = secrets
      .slice(index + 1)
      .find(([other, bytes]) => !(isKey(name) && isKey(other)) && isSameSecret(secret, bytes))
    if (twin) return [name, twin[0]]
  }
  return undefined
}
