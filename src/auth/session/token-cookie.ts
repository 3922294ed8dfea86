/**
 * The value of the AuthSession cookie of a session that was opened with a JWT. Its subject need not be in the
 * directory, so the cookie itself holds the name and roles of the token: `name ":" T "~:" id JSON MAC`. The mark after
 * T keeps this form apart from those of users.
 */
import { createHmac } from 'node:crypto'
import { isSameSecret } from '../../base/compare.ts'
import { readUtf8, toBase64Url } from '../../base/encoding.ts'
import { readJson } from '../../base/json.ts'
import type { TokenOrigin } from '../../directory/identity.ts'
import { type CookieKey, type CookieRules, digestBytesOf, type ReadCookie, SESSION_ID_BYTES } from './cookie-value.ts'

export interface TokenSession {
  readonly id: Uint8Array
  readonly name: string
  readonly roles: readonly string[]
  /** When this cookie was made, in seconds. */
  readonly issuedAt: number
  /** How long this cookie is valid. */
  readonly timeoutSeconds: number
  readonly origin: TokenOrigin
  /** When the session was opened, in seconds; `undefined` in cookies of earlier versions. */
  readonly openedAt: number | undefined
}

export const TOKEN_MARK = '~'
const PURPOSE = ':token session'

export const isTokenCookie = ({ time }: ReadCookie): boolean => time.endsWith(TOKEN_MARK)

type TokenCookieKey = Omit<CookieKey, 'salt'>

export function mintTokenCookie(session: TokenSession, key: TokenCookieKey): string {
  const { name, issuedAt, id } = session
  const head = `${name}:${issuedAt.toString(16).toUpperCase()}${TOKEN_MARK}:`
  const signed = Buffer.concat([Buffer.from(head), id, Buffer.from(renderContent(session))])
  return toBase64Url(Buffer.concat([signed, macOf(signed, key)]))
}

const macOf = (signed: Uint8Array, { secret, algorithm }: TokenCookieKey): Buffer =>
  createHmac(algorithm, Buffer.concat([secret, Buffer.from(PURPOSE)]))
    .update(signed)
    .digest()

const renderContent = ({ roles, timeoutSeconds, origin, openedAt }: TokenSession): string => {
  const { issuedAt = null, expiresAt = null, algorithm, kid = null, keyVersion } = origin
  return JSON.stringify([timeoutSeconds, issuedAt, expiresAt, algorithm, kid, keyVersion, roles, openedAt ?? null])
}

/** The session of a cookie with a right signature. Does not check whether it has expired. */
export function verifyTokenCookie(
  cookie: ReadCookie,
  rules: Pick<CookieRules, 'secrets' | 'algorithms'>,
): TokenSession | undefined {
  const whole = Buffer.concat([cookie.head, Buffer.from(':'), cookie.tail])
  for (const algorithm of rules.algorithms) {
    const macBytes = digestBytesOf(algorithm) ?? Number.POSITIVE_INFINITY
    const contentBytes = cookie.tail.length - SESSION_ID_BYTES - macBytes
    if (contentBytes <= 0) continue
    const signed = whole.subarray(0, -macBytes)
    const mac = whole.subarray(-macBytes)
    const isGenuine = rules.secrets.some((secret) => isSameSecret(macOf(signed, { secret, algorithm }), mac))
    if (isGenuine) return readSigned(cookie, cookie.tail.subarray(0, -macBytes))
  }
  return undefined
}

function readSigned({ name, time }: ReadCookie, tail: Buffer): TokenSession | undefined {
  const reading = readJson(readUtf8(tail.subarray(SESSION_ID_BYTES)) ?? '')
  if (reading.kind === 'refused') return undefined
  // the signature was right, so this is the text of renderContent
  const [timeoutSeconds, issuedAt, expiresAt, algorithm, kid, keyVersion, roles, openedAt] = reading.value as Content
  return {
    id: tail.subarray(0, SESSION_ID_BYTES),
    name,
    roles,
    issuedAt: Number.parseInt(time, 16),
    timeoutSeconds,
    origin: {
      issuedAt: issuedAt ?? undefined,
      expiresAt: expiresAt ?? undefined,
      algorithm,
      kid: kid ?? undefined,
      keyVersion,
    },
    openedAt: openedAt ?? undefined,
  }
}

type Content = readonly [
  number,
  number | null,
  number | null,
  string,
  string | null,
  string,
  readonly string[],
  (number | null)?,
]
