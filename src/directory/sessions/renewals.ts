/**
 * Renewal tokens. A session that has one is valid until it is not renewed for some time. Each renewal replaces the token.
 * A token that was replaced before shows that two parties have it: then the session is ended. The text is base64url of
 *
 *     session id (16 bytes)  secret (32 bytes)  MAC (16 bytes)
 *
 * The MAC shows that Cardea made the token. So a client that knows only the id of a session cannot end it. The store has
 * digests only. The next token is derived from the one before, so a repeated request gets the same one.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { nowSeconds } from '../../base/clock.ts'
import { isSameSecret } from '../../base/compare.ts'
import { digestHex, readBase64Url, toBase64Url } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import type { DirectoryParts } from '../parts.ts'
import type { Renewal } from '../store-port/sessions.ts'
import type { Session } from './session.ts'
import type { SessionDirectory } from './sessions.ts'

const ID_BYTES = 16
const SECRET_BYTES = 32
const MAC_BYTES = 16

/** Two tabs may send the same token, and a response may get lost. */
const GRACE_SECONDS = 30

interface RenewalParts extends DirectoryParts {
  readonly sessions: SessionDirectory
  /** Writes the records of sessions that were opened just now. */
  flushSessions(): Promise<void>
}

export const createRenewals = (parts: RenewalParts) => ({
  /** The first renewal token of a session that was opened just now. It is stored when this resolves. */
  async createRenewalToken(id: string, idleSeconds: number): Promise<string> {
    const token = sign(Buffer.from(id, 'base64url'), randomBytes(SECRET_BYTES), parts.ownKey())
    await parts.flushSessions()
    if (await put(parts, { id, previous: '', digest: digestOf(token) }, idleSeconds)) return token
    throw new Refusal('store_unavailable', { detail: 'the session has no record' })
  },
  /** The session and its next token; `undefined`: the given one is not valid, or its session has ended. */
  async useRenewalToken(token: string, idleSeconds: number) {
    const renewal = await find(parts, token)
    if (!renewal || nowSeconds(parts.clock) >= renewal.renewedAt + idleSeconds) return undefined
    const { id, name, generation, createdAt: issuedAt } = renewal
    const session: Session = { id, name, generation, issuedAt }
    if (!(await parts.sessions.isSessionLive(session))) return undefined
    const next = await replace(parts, renewal, token, idleSeconds)
    return next === undefined ? undefined : { session, token: next }
  },
  /** Ends the session of a renewal token, even of one that was replaced. Returns whose session it was. */
  async endRenewable(token: string): Promise<string | undefined> {
    const renewal = await find(parts, token)
    if (renewal) await end(parts, renewal)
    return renewal?.name
  },
})

async function find({ store, ownKey }: RenewalParts, token: string): Promise<Renewal | undefined> {
  const id = readId(token, ownKey())
  return id === undefined ? undefined : store.findRenewal(id)
}

/** The next token; `undefined`: this one was replaced before, and its session is ended now. */
async function replace(parts: RenewalParts, renewal: Renewal, token: string, idleSeconds: number) {
  const { id, name } = renewal
  const next = toNext(token, id, parts.ownKey())
  const previous = digestOf(token)
  const isCurrent = isSameSecret(renewal.digest, previous)
  if (isCurrent && (await put(parts, { id, previous, digest: digestOf(next) }, idleSeconds))) return next
  // another request may have renewed the session just now
  const stored = isCurrent ? await parts.store.findRenewal(id) : renewal
  if (!stored) return undefined
  const isRepeated = isSameSecret(stored.previous, previous)
  if (isRepeated && nowSeconds(parts.clock) - stored.renewedAt <= GRACE_SECONDS) return next
  await end(parts, renewal)
  parts.events.record('session.reused', { subject: name })
  return undefined
}

function put(
  { beginUnasked, clock }: RenewalParts,
  renewal: Pick<Renewal, 'id' | 'previous' | 'digest'>,
  idleSeconds: number,
): Promise<boolean> {
  const renewedAt = nowSeconds(clock)
  return beginUnasked('sign-in').store.renewSession({ ...renewal, renewedAt }, Math.ceil(renewedAt + idleSeconds))
}

/** No renewal is possible any more; this is for tokens that were issued before. */
const end = ({ sessions }: RenewalParts, { id, name }: Renewal): Promise<void> => sessions.endSession({ id, name })

const digestOf = (token: string): string => digestHex('sha256', token)

const toNext = (token: string, id: string, key: Uint8Array): string =>
  sign(Buffer.from(id, 'base64url'), macOf('next', Buffer.from(token), key), key)

function sign(id: Uint8Array, secret: Uint8Array, key: Uint8Array): string {
  const head = Buffer.concat([id, secret])
  return toBase64Url(Buffer.concat([head, macOf('made', head, key).subarray(0, MAC_BYTES)]))
}

/** `undefined`: Cardea has not made this token. */
function readId(token: string, key: Uint8Array): string | undefined {
  const bytes = readBase64Url(token)
  if (bytes?.length !== ID_BYTES + SECRET_BYTES + MAC_BYTES) return undefined
  const head = bytes.subarray(0, -MAC_BYTES)
  const isMade = isSameSecret(macOf('made', head, key).subarray(0, MAC_BYTES), bytes.subarray(-MAC_BYTES))
  return isMade ? toBase64Url(bytes.subarray(0, ID_BYTES)) : undefined
}

const macOf = (purpose: string, bytes: Uint8Array, key: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`renewal:${purpose}:`).update(bytes).digest()
