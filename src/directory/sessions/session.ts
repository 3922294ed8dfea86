/**
 * Sessions and their ids. An id is 16 bytes in base64url. The id of a session that was opened here, with the password
 * (and the second factor), with an external account or with an access token, proves that, and shows when:
 *
 *     seconds since the epoch (32 bits)  milliseconds (10 bits)  random (22 bits)  MAC (64 bits)
 *
 * The key of the MAC is Cardea's own and never leaves the store. The secrets for tokens and cookies, which other servers
 * may share, are therefore not enough to forge the proof. All other ids have random bits in place of the MAC.
 */

import { createHmac, randomBytes } from 'node:crypto'
import { isSameSecret } from '../../base/compare.ts'
import { digestHex } from '../../base/encoding.ts'
import { generationOf, type SessionEpoch } from '../session-epoch.ts'
import type { EndedSession, SessionRecord } from '../store-port/sessions.ts'
import { type ExternalAccount, toExternalKey } from '../users/user.ts'

/** One sign-in, carried by a cookie or a token. */
export interface Session {
  readonly id: string
  readonly name: string
  /** The generation of the account's session epoch when the session began. */
  readonly generation: number
  /** Seconds since the epoch. */
  readonly issuedAt: number
  /** The mark of the token of another issuer that it was opened with. */
  readonly foreignToken?: string | undefined
}

/** Whose session it is. A new session epoch invalidates the proof in every earlier id. */
export interface SessionOwner {
  readonly name: string
  readonly sessionEpoch: Pick<SessionEpoch, 'generation' | 'kept'>
  readonly links?: readonly ExternalAccount[] | undefined
}

/** The session a request came with. */
export interface PresentedSession extends Pick<Session, 'id' | 'name' | 'foreignToken'> {
  /** The mark of the access token that a session with a cookie was opened with. */
  readonly accessToken?: string | undefined
  /** Seconds since the epoch; left out where only the id may show it. */
  readonly issuedAt?: number
  /** Left out: it came with a token. */
  readonly cookie?: SessionCookie
}

export interface SessionCookie {
  /** Seconds since the epoch; from then on no copy made so far is accepted. */
  lastExpiry(): number
  /** The renewed cookie with the full lifetime; `undefined` while renewal is not due. */
  renew(): RenewedSession | undefined
}

export interface RenewedSession {
  readonly value: string
  readonly maxAgeSeconds: number
}

/** The cookie of a new session. */
export interface OpenedCookie extends RenewedSession {
  readonly id: string
}

const ID_BYTES = 16
const HEAD_BYTES = 8
const TIME_BYTES = 4
const RANDOM_BITS = 22
/** The largest time in four bytes: the year 2106. */
const MAX_TIME = 0xffff_ffff

const MARK_DIGITS = 32

/** The mark of a token of another issuer. Tokens of one name with the same `facts` (times and key) share it. */
export const toForeignMark = (name: string, facts: readonly unknown[]): string =>
  digestHex('sha256', JSON.stringify([name, ...facts])).slice(0, MARK_DIGITS)

/** An id without a proof. */
export const createPlainId = (nowMs: number): string =>
  Buffer.concat([createHead(nowMs), randomBytes(ID_BYTES - HEAD_BYTES)]).toString('base64url')

function createHead(nowMs: number): Buffer {
  const head = randomBytes(HEAD_BYTES)
  head.writeUInt32BE(Math.min(Math.floor(nowMs / 1000), MAX_TIME))
  const random = head.readUInt32BE(TIME_BYTES) % 2 ** RANDOM_BITS
  head.writeUInt32BE((nowMs % 1000) * 2 ** RANDOM_BITS + random, TIME_BYTES)
  return head
}

/** When the session with this id was opened, in seconds, as the id says. Nothing proves it. */
export const readOpeningTime = (id: string): number => headOf(id).readUIntBE(0, TIME_BYTES)

/** Sorts ids by the time at which their sessions were opened, the latest first. */
export const compareOpening = (a: string, b: string): number => Buffer.compare(headOf(b), headOf(a))

const headOf = (id: string): Buffer => Buffer.from(id, 'base64url').subarray(0, HEAD_BYTES)

/**
 * The ways to sign in at Cardea itself, each with what its proof in the id of a session begins with. `factor`: another
 * session has proved a second factor, and this one proves nothing else.
 */
const SIGN_INS = {
  password: 'session',
  'second factor': 'second-factor',
  passkey: 'passkey',
  factor: 'factor',
} as const

/** How a session was opened: by a sign-in here or with an external account, or with the access token of this mark. */
export type SessionProof = keyof typeof SIGN_INS | ExternalProof | { readonly accessToken: string }

/** By a sign-in with an external account, whose issuer may have asked for a second factor of its own. */
interface ExternalProof {
  /** The key of the external account. `undefined` in sessions of versions that did not keep it. */
  readonly account: string | undefined
  readonly hasFactor: boolean
  /** Whether the user proved itself to the issuer just then, and not with an earlier session there (`auth_time`). */
  readonly isFresh: boolean
}

/** The id of a session opened now, which proves how. */
export function createProvenId(owner: SessionOwner, proof: SessionProof, nowMs: number, key: Uint8Array): string {
  const head = createHead(nowMs)
  const label = toLabel(owner.name, owner.sessionEpoch.generation, proof)
  return Buffer.concat([head, macOf(head, label, key)]).toString('base64url')
}

/** When the session was opened in this way, in seconds; `undefined` if the id does not prove that it was. */
export function findOpeningTime(id: string, owner: SessionOwner, proof: SessionProof, key: Uint8Array) {
  const bytes = Buffer.from(id, 'base64url')
  if (bytes.length !== ID_BYTES) return undefined
  const head = bytes.subarray(0, HEAD_BYTES)
  const label = toLabel(owner.name, generationOf(owner.sessionEpoch, id), proof)
  const isProven = isSameSecret(macOf(head, label, key), bytes.subarray(HEAD_BYTES))
  return isProven ? head.readUIntBE(0, TIME_BYTES) : undefined
}

/** When the session was opened with the password, with or without a second factor. */
export const findPasswordTime = (id: string, owner: SessionOwner, key: Uint8Array): number | undefined =>
  findOpeningTime(id, owner, 'password', key) ?? findOpeningTime(id, owner, 'second factor', key)

/** When its user signed in, in any way. */
export const findSignInTime = (id: string, owner: SessionOwner, key: Uint8Array): number | undefined =>
  findPasswordTime(id, owner, key) ??
  findOpeningTime(id, owner, 'passkey', key) ??
  findExternalOpening(id, owner, key)?.at

/** The sign-in with an external account that opened a session. */
export interface ExternalOpening extends ExternalProof {
  /** In seconds. */
  readonly at: number
  /** The external account, if the session proves which one it was. */
  readonly link: ExternalAccount | undefined
}

/** What an issuer may say of a sign-in: whether with a second factor, and whether just then. */
const STATEMENTS = [false, true].flatMap((isFresh) => [false, true].map((hasFactor) => ({ hasFactor, isFresh })))

/** `undefined`: the id does not prove one. A user without external accounts has no such session. */
export function findExternalOpening(id: string, owner: SessionOwner, key: Uint8Array): ExternalOpening | undefined {
  const { links = [] } = owner
  for (const link of links.length === 0 ? [] : [...links, undefined])
    for (const statement of STATEMENTS) {
      const proof = { account: link && toExternalKey(link), ...statement }
      const at = findOpeningTime(id, owner, proof, key)
      if (at !== undefined) return { ...proof, at, link }
    }
  return undefined
}

/** Whether the session was opened with the current second factor of its owner or a passkey, or has confirmed it. */
export const provesFactor = (id: string, owner: SessionOwner, key: Uint8Array): boolean =>
  owner.sessionEpoch.kept?.id === id ||
  FACTOR_PROOFS.some((proof) => findOpeningTime(id, owner, proof, key) !== undefined)

const FACTOR_PROOFS = ['second factor', 'passkey', 'factor'] as const

function toLabel(name: string, generation: number, proof: SessionProof): string {
  return `${toWay(proof)}:${generation}:${name}:`
}

function toWay(proof: SessionProof): string {
  if (typeof proof === 'string') return SIGN_INS[proof]
  if ('accessToken' in proof) return `access-token:${proof.accessToken}`
  const way = `provider${proof.hasFactor ? '-factor' : ''}${proof.isFresh ? '-fresh' : ''}`
  return proof.account === undefined ? way : `${way}:${proof.account}`
}

const macOf = (head: Uint8Array, label: string, key: Uint8Array): Buffer =>
  createHmac('sha256', key)
    .update(label)
    .update(head)
    .digest()
    .subarray(0, ID_BYTES - HEAD_BYTES)

/** A token that another issuer signed. `issuedAt` is its `iat`; `now` for a source that confirms every request. */
export interface ForeignToken {
  readonly name: string
  /** The id of a session opened with it, and the mark of the token. */
  readonly id?: string
  readonly mark?: string
  readonly issuedAt: number | 'now' | undefined
  /** Whether the request was accepted before, and is checked again. */
  readonly isRunning?: boolean
  /** How far the clock that `issuedAt` is from may be ahead. Left out: a minute. */
  readonly leewaySeconds?: number
}

export interface SessionOpening {
  /** Whether the session was opened with the password itself. */
  readonly hasPassword: boolean
  /** Whether it was opened with a code of the account's second factor too, or with one that the issuer of the external account asked for. */
  readonly hasFactor: boolean
  /** Whether a passkey opened it, without the password. */
  readonly isPasskey?: boolean
  /** The external account that opened it. */
  readonly external?: Pick<ExternalProof, 'account' | 'isFresh'> | undefined
  /** The mark of the access token it was opened with. */
  readonly accessToken?: string | undefined
}

export interface EndingSession extends Omit<EndedSession, 'expiresAt'> {
  /** Seconds since the epoch; from then on no copy is accepted anyway. Left out: the session has no cookie that shows it. */
  readonly expiresAt?: number | undefined
  /** The mark of the access token the session was opened with. */
  readonly accessToken?: string | undefined
  /** The mark of the token of another issuer that the session was opened with. */
  readonly foreignToken?: string | undefined
}

/** A session that a request has opened or used now. */
export type SessionUse = Omit<SessionRecord, 'seenAt'>
