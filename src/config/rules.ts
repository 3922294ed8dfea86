import { isSameSecret, trimHmacKey } from '../base/compare.ts'
import { readBase64 } from '../base/encoding.ts'
import type { Endpoint } from './addresses.ts'
import { type Config, type OptionName, splitName } from './options.ts'
import type { AllValues, Rule } from './settings.ts'

type OrderedPair = readonly [OptionName, OptionName, (values: Config) => readonly [number, number]]

const ORDERED: readonly OrderedPair[] = [
  [
    'auth.minimal-jwt-expiry-time',
    'auth.maximal-jwt-expiry-time',
    ({ auth }) => [auth['minimal-jwt-expiry-time'], auth['maximal-jwt-expiry-time']],
  ],
  [
    'chttpd_auth.min_iterations',
    'chttpd_auth.max_iterations',
    ({ chttpd_auth: auth }) => [auth.min_iterations, auth.max_iterations],
  ],
]

const orderRules = ORDERED.map(
  ([low, high, pick]): Rule => ({
    about: [low, high],
    check: ({ values }) => {
      const [lower, upper] = pick(values)
      return lower > upper ? `${low} must not be greater than ${high}` : undefined
    },
  }),
)

type Listener = { readonly host: string; readonly port: number }

const plainEndpoints = (endpoints: readonly Endpoint[]): readonly Listener[] =>
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
  ...orderRules,
  ...exposureRules,
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
  {
    about: ['server.jwt-secret-keyfile', 'server.jwt-secret-folder'],
    check: ({ values: { server } }) =>
      server['jwt-secret-keyfile'] && server['jwt-secret-folder']
        ? "please specify either '--server.jwt-secret-keyfile' or '--server.jwt-secret-folder' but not both."
        : undefined,
  },
  {
    about: ['upstream.multi-model-secret-keyfile', 'upstream.multi-model-secret-folder'],
    check: ({ values: { upstream } }) =>
      upstream['multi-model-secret-keyfile'] && upstream['multi-model-secret-folder']
        ? 'give upstream.multi-model-secret-keyfile or upstream.multi-model-secret-folder, not both'
        : undefined,
  },
  {
    about: ['upstream.document', 'upstream.document-secret'],
    check: ({ values: { upstream } }) =>
      upstream.document.length > 0 && upstream['document-secret'] === ''
        ? 'upstream.document needs upstream.document-secret, with which CouchDB verifies the identity of the user'
        : undefined,
  },
  {
    about: ['upstream.multi-model', 'upstream.multi-model-secret-keyfile', 'upstream.multi-model-secret-folder'],
    check: ({ values: { upstream } }) => {
      const isSigned = upstream['multi-model'].length > 0 && upstream['multi-model-identity'] === 'user'
      return isSigned && !upstream['multi-model-secret-keyfile'] && !upstream['multi-model-secret-folder']
        ? 'upstream.multi-model needs upstream.multi-model-secret-keyfile or -folder, or upstream.multi-model-identity = client'
        : undefined
    },
  },
  {
    about: ['cors.origins', 'cors.credentials'],
    // Every sandboxed frame has the origin `null`, so it is as open as `*`.
    check: ({ values: { cors } }) =>
      cors.credentials && cors.origins.some((origin) => origin === '*' || origin === 'null')
        ? 'cors.credentials = true needs origins by name, neither * nor null'
        : undefined,
  },
  {
    about: ['cors.credentials', 'chttpd_auth.same_site'],
    kind: 'warning',
    check: ({ values: { cors, chttpd_auth: auth } }) =>
      cors.credentials && (auth.same_site === 'lax' || auth.same_site === 'strict')
        ? `cors.credentials is true, but with chttpd_auth.same_site = ${auth.same_site} browsers do not send the session cookie from pages of other sites; if an origin is of another site, set same_site to none and serve TLS`
        : undefined,
  },
  {
    about: ['chttpd_auth.cookie_partitioned', 'chttpd_auth.same_site'],
    check: ({ values: { chttpd_auth: auth } }) =>
      auth.cookie_partitioned && auth.same_site !== 'none'
        ? 'chttpd_auth.cookie_partitioned needs chttpd_auth.same_site = none'
        : undefined,
  },
  {
    about: ['server.endpoint', 'admin.endpoint', 'metrics.endpoint', 'ssl.keyfile'],
    check: ({ values }) =>
      [...values.server.endpoint, ...values.admin.endpoint, ...values.metrics.endpoint].some(
        ({ kind }) => kind === 'ssl',
      ) && values.ssl.keyfile === ''
        ? 'an ssl:// endpoint needs ssl.keyfile'
        : undefined,
  },
  {
    about: ['ssl.enable', 'ssl.cert_file', 'ssl.key_file'],
    check: ({ values: { ssl } }) =>
      ssl.enable && (ssl.cert_file === '' || ssl.key_file === '')
        ? 'ssl.enable needs ssl.cert_file and ssl.key_file'
        : undefined,
  },
  {
    about: ['chttpd_auth.cookie_host_prefix', 'chttpd_auth.cookie_domain'],
    check: ({ values: { chttpd_auth: auth } }) =>
      auth.cookie_host_prefix && auth.cookie_domain !== ''
        ? 'with chttpd_auth.cookie_host_prefix browsers reject a cookie that has a domain: remove chttpd_auth.cookie_domain'
        : undefined,
  },
  {
    about: ['ssl.client-ca', 'ssl.client-crl'],
    check: ({ values: { ssl } }) =>
      ssl['client-crl'] !== '' && ssl['client-ca'] === '' ? 'ssl.client-crl needs ssl.client-ca' : undefined,
  },
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
  {
    about: ['chttpd.port', 'ssl.enable', 'ssl.port', 'server.endpoint'],
    check: ({ values: { chttpd, ssl, server } }) => {
      const hasTls = ssl.enable && ssl.port !== 'none'
      return chttpd.port === 'none' && !hasTls && server.endpoint.length === 0
        ? 'both doors are switched off'
        : undefined
    },
  },
  {
    about: ['chttpd_auth.x_auth_username', 'chttpd_auth.x_auth_roles', 'chttpd_auth.x_auth_token'],
    check: ({ values: { chttpd_auth: auth } }) => {
      const names = [auth.x_auth_username, auth.x_auth_roles, auth.x_auth_token].filter((name) => name !== '')
      return new Set(names.map((name) => name.toLowerCase())).size < names.length
        ? 'the headers of proxy authentication must have different names'
        : undefined
    },
  },
  {
    about: ['chttpd_auth.secret', 'server.jwt-secret', 'upstream.document-secret'],
    check: (given) => {
      const pair = findEqual(secretsOf(given))
      return pair && { message: `${pair.join(' and ')} must be different secrets`, about: pair.map(toPlace) }
    },
  },
  {
    about: [
      'server.jwt-secret-keyfile',
      'server.jwt-secret-folder',
      'upstream.multi-model-secret-keyfile',
      'upstream.multi-model-secret-folder',
    ],
    check: ({ values: { server, upstream } }) => {
      const own = [server['jwt-secret-keyfile'], server['jwt-secret-folder']].filter((path) => path !== '')
      const theirs = [upstream['multi-model-secret-keyfile'], upstream['multi-model-secret-folder']]
      return own.some((path) => theirs.includes(path))
        ? 'the secrets of server.jwt-secret-* and upstream.multi-model-secret-* must be different'
        : undefined
    },
  },
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

const KEY_PREFIX = '[jwt_keys] '

function toPlace(name: string): readonly [section: string, key: string] {
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
