/**
 * A session opened with a token. Nobody in the directory stands behind it, so the cookie says itself what the token
 * said: `name ":" T "~:" id JSON MAC`. The mark after T keeps it apart from the other forms, which sign no such text.
 */
import { createHmac } from 'node:crypto'
import { isSameSecret } from '../../base/compare.ts'
import { readUtf8 } from '../../base/encoding.ts'
import { readJson } from '../../base/json.ts'
import type { TokenOrigin } from '../../directory/presented-session.ts'
import { toBase64Url } from '../../keys/base64url.ts'
import { digestBytesOf, type ReadCookie, SESSION_ID_BYTES } from './signed-cookie.ts'

export interface TokenSession {
  readonly id: Uint8Array
  readonly name: string
  readonly roles: readonly string[]
  /** When this copy was made, in seconds. */
  readonly issuedAt: number
  /** How long this copy lives. */
  readonly timeoutSeconds: number
  readonly origin: TokenOrigin
}

const MARK = '~'
const PURPOSE = ':token session'

export const isTokenCookie = ({ time }: ReadCookie): boolean => time.endsWith(MARK)

export interface TokenCookieKey {
  readonly secret: Uint8Array
  /** As `node:crypto` names it. */
  readonly algorithm: string
}

export function mintTokenCookie(session: TokenSession, key: TokenCookieKey): string {
  const { name, issuedAt, id } = session
  const head = `${name}:${issuedAt.toString(16).toUpperCase()}${MARK}:`
  const signed = Buffer.concat([Buffer.from(head), id, Buffer.from(renderContent(session))])
  return toBase64Url(Buffer.concat([signed, macOf(signed, key)]))
}

const macOf = (signed: Uint8Array, { secret, algorithm }: TokenCookieKey): Buffer =>
  createHmac(algorithm, Buffer.concat([secret, Buffer.from(PURPOSE)]))
    .update(signed)
    .digest()

const renderContent = ({ roles, timeoutSeconds, origin }: TokenSession): string => {
  const { issuedAt = null, expiresAt = null, algorithm, kid = null, keyVersion } = origin
  return JSON.stringify([timeoutSeconds, issuedAt, expiresAt, algorithm, kid, keyVersion, roles])
}

export interface TokenCookieRules {
  readonly secrets: readonly Uint8Array[]
  readonly algorithms: readonly string[]
}

/** What such a cookie says, if it is genuine. Whether its time is over is not looked at. */
export function readTokenCookie(cookie: ReadCookie, rules: TokenCookieRules): TokenSession | undefined {
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
  // only what this file rendered reaches this line: it was signed
  const [timeoutSeconds, issuedAt, expiresAt, algorithm, kid, keyVersion, roles] = reading.value as Content
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
  }
}

type Content = readonly [number, number | null, number | null, string, string | null, string, readonly string[]]
