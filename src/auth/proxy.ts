import { createHmac } from 'node:crypto'
import { readUtf8 } from '../base/encoding.ts'
import type { Directory } from '../directory/directory.ts'
import type { Credential, CredentialKind } from '../directory/identity.ts'
import {
  ABSENT,
  accept,
  type CredentialHandler,
  type CredentialSource,
  isName,
  isRole,
  toExternalIdentity,
  type Verdict,
} from './handler.ts'
import { digestBytesOf, isMacOf, type SignatureRules, type SigningSettings } from './session/cookie-value.ts'
import type { CookieSecrets } from './session/secrets.ts'

const PROXY_HANDLER = 'proxy'

export const PROXY_HEADERS: CredentialKind = { name: 'proxy headers', sentByBrowser: 'header' }

const CREDENTIAL: Credential = Object.freeze({ kind: PROXY_HEADERS, handler: PROXY_HANDLER })

/** The names of the headers that a proxy sets, in lower case. */
export interface ProxyHeaderNames {
  readonly username: string
  readonly roles: string
  readonly token: string
}

export interface ProxyDeps {
  names(): ProxyHeaderNames
  /** Whether the token header must prove that the proxy knows the secret. Otherwise the peer must be trusted. */
  usesSecret(): boolean
  readonly secrets: Pick<CookieSecrets, 'current'>
  settings(): Pick<SigningSettings, 'algorithms'>
  readonly directory: Pick<Directory, 'isForeignTokenLive'>
}

/** Identity headers set by a proxy. Headers without the required proof are ignored; the next handler is asked. */
export const createProxyHandler = (deps: ProxyDeps): CredentialHandler => ({
  name: PROXY_HANDLER,
  kinds: [PROXY_HEADERS],
  read(source) {
    const headers = readHeaders(source, deps.names())
    return headers === undefined ? ABSENT : () => checkCredential(headers, source, deps)
  },
})

async function checkCredential(headers: ProxyHeaders, source: CredentialSource, deps: ProxyDeps): Promise<Verdict> {
  const { name, roles } = headers
  if (!isName(name) || !roles.every(isRole)) return ABSENT
  if (!isProven(headers, source, deps)) return UNPROVEN
  // a deactivated user; the headers are about this moment, so sessions that ended earlier do not matter
  if (!(await deps.directory.isForeignTokenLive({ name, issuedAt: 'now' }))) return ABSENT
  return accept(toExternalIdentity(name, roles), CREDENTIAL)
}

const UNPROVEN: Verdict = Object.freeze({
  kind: 'absent',
  note: 'proxy headers ignored: the token is missing or wrong, or the peer is not trusted',
})

interface ProxyHeaders {
  readonly name: string
  readonly roles: readonly string[]
  readonly token: string | undefined
}

function readHeaders(source: CredentialSource, names: ProxyHeaderNames): ProxyHeaders | undefined {
  // a repeated header was written by two parties, and it is unclear which one is the proxy
  if (source.header(names.username) === undefined || Object.values(names).some((name) => source.isRepeated(name))) {
    return undefined
  }
  const name = readText(source.header(names.username) ?? '')
  const roles = readText(source.header(names.roles) ?? '')
  return name === undefined || roles === undefined
    ? undefined
    : { name, roles: splitRoles(roles), token: source.header(names.token) }
}

/** Node decodes headers as latin1. */
const readText = (header: string): string | undefined => readUtf8(Buffer.from(header, 'latin1'))

const splitRoles = (text: string): readonly string[] =>
  text
    .split(',')
    .map((role) => role.trim())
    .filter((role) => role !== '')

function isProven({ name, token }: ProxyHeaders, { client }: CredentialSource, deps: ProxyDeps): boolean {
  if (!deps.usesSecret()) return client.isTrusted
  const secret = deps.secrets.current()
  const { algorithms } = deps.settings()
  return token !== undefined && isProxyToken(token, name, { secrets: secret ? [secret] : [], algorithms })
}

/** `algorithm` is a name of `node:crypto`. */
export const mintProxyToken = (
  name: string | Uint8Array,
  { secret, algorithm }: { readonly secret: Uint8Array; readonly algorithm: string },
): string => createHmac(algorithm, secret).update(name).digest('hex')

/** Whether `token` is the hexadecimal HMAC of the user's name with one of the secrets and algorithms. */
export function isProxyToken(
  token: string,
  name: string | Uint8Array,
  { secrets, algorithms }: Pick<SignatureRules, 'secrets' | 'algorithms'>,
): boolean {
  if (!/^(?:[0-9A-Fa-f]{2}){1,64}$/.test(token)) return false
  const mac = Buffer.from(token, 'hex')
  const signed = typeof name === 'string' ? Buffer.from(name) : name
  return algorithms.some(
    (algorithm) => digestBytesOf(algorithm) === mac.length && isMacOf(mac, signed, algorithm, { secrets, salt: '' }),
  )
}
