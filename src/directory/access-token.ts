/**
 * Access tokens: long-lived extra passwords of a user at the multi-model door. Made and read side by side, so that the
 * two cannot drift. The text is shown once; what is kept of it is a digest, which is enough: it is random, not chosen.
 */
import { randomInt } from 'node:crypto'
import { isSameSecret } from '../base/compare.ts'
import { readUtf8 } from '../base/encoding.ts'
import { findMember, isJsonObject, readJson } from '../base/json.ts'
import { digestHex } from '../passwords/password-digest.ts'
import type { AccessToken, SessionEpoch, User } from './user.ts'

const PREFIX = 'v1.'
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const RANDOM_LETTERS = 20

export interface NewAccessToken {
  readonly user: string
  readonly name: string
  readonly createdAt: number
  readonly validUntil: number
}

/** Everything of a token but its number, and its text. */
export interface MadeAccessToken {
  readonly text: string
  readonly token: Omit<AccessToken, 'id'>
}

export function createAccessToken({ user, name, createdAt, validUntil }: NewAccessToken): MadeAccessToken {
  const content = JSON.stringify({ e: validUntil, c: createdAt, u: user, r: createRandomText() })
  const text = PREFIX + Buffer.from(content).toString('hex')
  return { text, token: { name, createdAt, validUntil, fingerprint: toFingerprint(text), digest: toTokenDigest(text) } }
}

const createRandomText = (): string =>
  Array.from({ length: RANDOM_LETTERS }, () => LETTERS[randomInt(LETTERS.length)]).join('')

/** Enough to tell one's tokens apart, not to use one. */
export const toFingerprint = (text: string): string => `${text.slice(0, 3)}..${text.slice(-6)}`

export const toTokenDigest = (text: string): string => digestHex('sha256', text)

const TEXT = /^v1\.(?:[0-9a-f]{2}){1,4096}$/

/** Whose token this says it is; `undefined` where the text is none. Nothing of it has been checked. */
export function findTokenUser(text: string): string | undefined {
  if (!TEXT.test(text)) return undefined
  const reading = readJson(readUtf8(Buffer.from(text.slice(PREFIX.length), 'hex')) ?? '')
  const user = reading.kind === 'json' && isJsonObject(reading.value) ? findMember(reading.value, 'u') : undefined
  return typeof user === 'string' ? user : undefined
}

/** Whose tokens they are, as far as it says which of them are good. */
export interface TokenOwner {
  readonly tokens: readonly AccessToken[]
  readonly sessionEpoch: SessionEpoch
}

/** A new password, a deactivation and a sign-out end it like any session. */
export const isTokenActive = (
  { validUntil, generation = 0 }: AccessToken,
  { sessionEpoch }: Pick<TokenOwner, 'sessionEpoch'>,
  nowSeconds: number,
): boolean => nowSeconds < validUntil && generation === sessionEpoch.generation

/** The token of this owner whose text this is, if it is still good. */
export function findActiveToken(owner: TokenOwner, text: string, nowSeconds: number): AccessToken | undefined {
  const digest = toTokenDigest(text)
  return owner.tokens.find((token) => isSameSecret(token.digest, digest) && isTokenActive(token, owner, nowSeconds))
}

const MARK_DIGITS = 32

/** Tells a token from all others there ever were: its number may be given again when it is deleted. */
export const toTokenMark = ({ digest }: AccessToken): string => digest.slice(0, MARK_DIGITS)

/** Whether the token of that mark is still there. */
export const hasToken = ({ tokens }: Pick<TokenOwner, 'tokens'>, mark: string): boolean =>
  tokens.some((token) => toTokenMark(token) === mark)

/** Tokens that name no generation are of the one the user is in. */
export function bindTokens(user: User): User {
  const { generation } = user.sessionEpoch
  const { tokens } = user.multiModel
  if (tokens.every((token) => token.generation !== undefined)) return user
  return { ...user, multiModel: { ...user.multiModel, tokens: tokens.map((token) => ({ generation, ...token })) } }
}
