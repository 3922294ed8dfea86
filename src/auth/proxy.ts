import { readUtf8 } from '../base/encoding.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { isName, isRole, toForeignIdentity } from './foreign-identity.ts'
import { ABSENT, type CredentialHandler, type CredentialSource, type Verdict } from './handler.ts'

/** The headers a proxy speaks through. */
export interface ProxyHeaderNames {
  readonly username: string
  readonly roles: string
  readonly token: string
}

export interface ProxyDeps {
  names(): ProxyHeaderNames
  /** Whether a token must show that whoever sends the headers knows the secret. Without it the peer must be trusted. */
  usesSecret(): boolean
  /** Whether this token was made of the name with a secret in force. */
  isToken(name: string, token: string): boolean
  /** Whether nobody of that name was deactivated. */
  isWelcome(name: string): MaybePromise<boolean>
}

/**
 * Who a proxy says is asking. An ambient credential: headers that do not show what they must say nothing, and the
 * request goes on without them.
 */
export function createProxyHandler(deps: ProxyDeps): CredentialHandler {
  return {
    name: 'proxy',
    read(source) {
      const headers = readHeaders(source, deps.names())
      if (headers === undefined) return ABSENT
      const { name, roles } = headers
      if (!isName(name) || !roles.every(isRole)) return ABSENT
      if (!isProven(headers, source, deps)) return UNPROVEN
      return andThen(deps.isWelcome(name), (isWelcome): Verdict => {
        return isWelcome ? { kind: 'accepted', identity: toForeignIdentity(name, roles) } : ABSENT
      })
    },
  }
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
  // that a header stands twice means that two have written it, and whose word counts cannot be told
  if (source.header(names.username) === undefined || Object.values(names).some((name) => source.isRepeated(name))) {
    return undefined
  }
  const name = readText(source.header(names.username) ?? '')
  const roles = readText(source.header(names.roles) ?? '')
  return name === undefined || roles === undefined
    ? undefined
    : { name, roles: splitRoles(roles), token: source.header(names.token) }
}

/** Node gives a header one character a byte. */
const readText = (header: string): string | undefined => readUtf8(Buffer.from(header, 'latin1'))

const splitRoles = (text: string): readonly string[] =>
  text
    .split(',')
    .map((role) => role.trim())
    .filter((role) => role !== '')

const isProven = ({ name, token }: ProxyHeaders, { client }: CredentialSource, deps: ProxyDeps): boolean =>
  deps.usesSecret() ? token !== undefined && deps.isToken(name, token) : client.isTrusted
