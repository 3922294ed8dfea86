/**
 * Access tokens: long-lived additional passwords of a user at the multi-model door. The text is shown once, and only its
 * digest is stored. A fast digest is enough, because the text is random.
 */
import { randomInt } from 'node:crypto'
import { isSameSecret } from '../base/compare.ts'
import { digestHex, readUtf8 } from '../base/encoding.ts'
import { badRequest, Refusal } from '../base/errors.ts'
import { findMember, readJsonObject } from '../base/json.ts'
import type { TokenScope } from './identity.ts'
import type { SessionEpoch } from './session-epoch.ts'
import { type AccessToken, type User, withField } from './users/user.ts'

const PREFIX = 'v1.'
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const RANDOM_LETTERS = 20

type NewAccessToken = Pick<AccessToken, 'name' | 'createdAt' | 'validUntil' | 'databases' | 'services' | 'access'>

/** The text of a new token, and the token without its id. A read-only one names its databases. */
export function createAccessToken({ user, ...given }: NewAccessToken & { readonly user: string }) {
  const { validUntil, createdAt, access, databases, services } = given
  if (access !== undefined && (!databases || services))
    throw badRequest('A read-only token (access: ro) needs databases, and is not valid for services.')
  const content = JSON.stringify({ e: validUntil, c: createdAt, u: user, r: createRandomText() })
  const text = PREFIX + Buffer.from(content).toString('hex')
  return { text, token: { ...given, fingerprint: toFingerprint(text), digest: toTokenDigest(text) } }
}

const createRandomText = (): string =>
  Array.from({ length: RANDOM_LETTERS }, () => LETTERS[randomInt(LETTERS.length)]).join('')

/** Shows the user which token it is, without revealing it. */
export const toFingerprint = (text: string): string => `${text.slice(0, 3)}..${text.slice(-6)}`

export const toTokenDigest = (text: string): string => digestHex('sha256', text)

const TEXT = /^v1\.(?:[0-9a-f]{2}){1,4096}$/

/** The user named in the text; `undefined` if it is not an access token. The token is not verified. */
export function findTokenUser(text: string): string | undefined {
  if (!TEXT.test(text)) return undefined
  const content = readJsonObject(readUtf8(Buffer.from(text.slice(PREFIX.length), 'hex')) ?? '') ?? {}
  const user = findMember(content, 'u')
  return typeof user === 'string' ? user : undefined
}

/** The part of a user or account that decides which tokens are valid. */
interface TokenOwner {
  readonly tokens: readonly AccessToken[]
  readonly sessionEpoch: SessionEpoch
}

/** A new password, a deactivation and a sign-out revoke it, like a session. */
export const isTokenActive = (
  { validUntil, generation = 0 }: AccessToken,
  { sessionEpoch }: Pick<TokenOwner, 'sessionEpoch'>,
  nowSeconds: number,
): boolean => nowSeconds < validUntil && generation === sessionEpoch.generation

/** The owner's token with this text, if it is still valid. */
export function findActiveToken(owner: TokenOwner, text: string, nowSeconds: number): AccessToken | undefined {
  const digest = toTokenDigest(text)
  return owner.tokens.find((token) => isSameSecret(token.digest, digest) && isTokenActive(token, owner, nowSeconds))
}

/** Whether the owner has the token with this text, even one that has expired. */
export function isTokenOf(owner: Pick<TokenOwner, 'tokens'>, text: string): boolean {
  const digest = toTokenDigest(text)
  return owner.tokens.some((token) => isSameSecret(token.digest, digest))
}

const MARK_DIGITS = 32

/** Unique among all tokens. An id is not: it may be used again after a token is deleted. */
export const toTokenMark = ({ digest }: AccessToken): string => digest.slice(0, MARK_DIGITS)

/** What the token is valid for; `undefined`: everything its user may do. */
export const findScope = ({ databases, services, access }: AccessToken): TokenScope | undefined =>
  databases || services || access
    ? { databases: databases ?? [], services: services ?? [], ...(access && { access }) }
    : undefined

export const findTokenByMark = ({ tokens }: Pick<TokenOwner, 'tokens'>, mark: string): AccessToken | undefined =>
  tokens.find((token) => toTokenMark(token) === mark)

/** Whether the token with this mark still exists. */
export const hasToken = (owner: Pick<TokenOwner, 'tokens'>, mark: string): boolean =>
  findTokenByMark(owner, mark) !== undefined

/** They are part of the user's record, and users create them themselves. */
const MAX_TOKENS = 100

/** Throws `name_taken` for a name that another token of the user has. */
export function withToken(user: User, token: Omit<AccessToken, 'id'>): User {
  const { tokens } = user.multiModel
  if (tokens.some(({ name }) => name === token.name)) throw new Refusal('name_taken')
  if (tokens.length >= MAX_TOKENS) throw badRequest(`a user has at most ${MAX_TOKENS} tokens`)
  const id = Math.max(0, ...tokens.map((other) => other.id)) + 1
  return withField(user, 'tokens', [...tokens, { id, ...token }])
}

export const withoutToken = (user: User, isRemoved: (token: AccessToken) => boolean): User =>
  withField(
    user,
    'tokens',
    user.multiModel.tokens.filter((token) => !isRemoved(token)),
  )

/** Gives tokens without a generation the current one of the user. */
export function bindTokens(user: User): User {
  const { generation } = user.sessionEpoch
  if (user.multiModel.tokens.every((token) => token.generation !== undefined)) return user
  const bound = user.multiModel.tokens.map((token) => ({ generation, ...token }))
  return withField(user, 'tokens', bound)
}
