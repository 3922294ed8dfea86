// Tokens that Cardea issues at the multi-model door: their claims are written and read in one file.
import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { findMember } from '../base/json.ts'
import type { Account } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { Credential, CredentialKind } from '../directory/identity.ts'
import { type OpenedCookie, type Session, type SessionOpening, toForeignMark } from '../directory/sessions/session.ts'
import type { UserClaims } from '../keys/multi-model-claims.ts'
import { type KeyRing, signWithRing } from '../keys/ring.ts'
import type { Claims } from '../keys/verify.ts'
import type { SecurityEvents } from '../observe/security-events.ts'

/** A token that Cardea issued at the multi-model door for a session. */
export const ISSUED_TOKEN: CredentialKind = { name: 'issued token', provesPassword: 'its session' }
/** A token that another program signed with the secret of the multi-model door. */
export const FOREIGN_TOKEN: CredentialKind = { name: 'foreign token' }

/** A token of the multi-model door that names a user. */
export interface UserToken extends Credential {
  /** `undefined` for a token that another program signed. */
  readonly session: Session | undefined
  /** Its `iat`, in seconds. */
  readonly issuedAt: number | undefined
  /** It cannot be renewed beyond this time, because the credential it was issued for expires then. */
  readonly renewableUntil: number | undefined
}

export type RenewableToken = Omit<UserToken, 'kind' | 'handler'>

export const isUserToken = (credential: Credential | undefined): credential is UserToken =>
  credential?.kind === ISSUED_TOKEN || credential?.kind === FOREIGN_TOKEN

/** Cardea's own claims: session epoch of the user, end of renewal, and mark of the token it was issued for. */
const GENERATION = 'cdg'
const RENEWABLE_UNTIL = 'cdu'
const ACCESS_TOKEN = 'cdt'
const FOREIGN_MARK = 'cdf'

interface NewToken extends Pick<UserToken, 'renewableUntil' | 'accessToken' | 'allowedPaths'> {
  readonly session: Session
  readonly lifetimeSeconds: number
}

/** The claims of ArangoDB, in its order, then those that identify the session. */
function toClaims({ session, ...token }: NewToken, { issuer, clock }: IssueDeps): Claims {
  const iat = nowSeconds(clock)
  const exp = iat + token.lifetimeSeconds
  return {
    preferred_username: session.name,
    iss: issuer,
    iat,
    exp: Math.min(exp, token.renewableUntil ?? exp),
    ...(token.allowedPaths ? { allowed_paths: token.allowedPaths } : {}),
    jti: session.id,
    [GENERATION]: session.generation,
    ...(token.renewableUntil === undefined ? {} : { [RENEWABLE_UNTIL]: token.renewableUntil }),
    ...(token.accessToken === undefined ? {} : { [ACCESS_TOKEN]: token.accessToken }),
    ...(session.foreignToken === undefined ? {} : { [FOREIGN_MARK]: session.foreignToken }),
  }
}

export interface IssueDeps {
  readonly directory: Pick<Directory, 'findAccount' | 'createSession' | 'isSessionEnded'>
  ring(): KeyRing
  readonly issuer: string
  /** Seconds after the sign-in at which a session ends; 0: never. */
  maxLifetimeSeconds(): number
  readonly events: SecurityEvents
  readonly clock: Clock
}

export interface IssuedTokenOpening extends SessionOpening {
  readonly lifetimeSeconds: number
  /** When the access token it is opened with expires. */
  readonly validUntil: number | undefined
}

export const createIssuedTokens = (deps: IssueDeps) => ({
  /** The token of a new session. */
  issue(account: Account, { lifetimeSeconds, validUntil, ...opening }: IssuedTokenOpening): OpenedCookie {
    const session = deps.directory.createSession(account, opening)
    const renewableUntil = limitRenewal(deps, validUntil, session.issuedAt)
    const token = {
      session,
      lifetimeSeconds,
      renewableUntil,
      accessToken: opening.accessToken,
      allowedPaths: undefined,
    }
    return { id: session.id, value: sign(token, deps), maxAgeSeconds: lifetimeSeconds }
  },
  /** A new token for the same session. A token that another program has signed has no session yet. */
  async renew(name: string, token: RenewableToken, lifetimeSeconds: number): Promise<string> {
    const { session: known, accessToken, allowedPaths } = token
    if (!known) deps.events.requireRecording()
    const session = known ?? (await createForeignSession(deps, name, token))
    const renewableUntil = limitRenewal(deps, token.renewableUntil, session.issuedAt)
    const renewed = sign({ session, lifetimeSeconds, renewableUntil, accessToken, allowedPaths }, deps)
    if (!known) deps.events.record('sign-in.accepted', { subject: name, opened: 'token' })
    return renewed
  },
})

const sign = (token: NewToken, deps: IssueDeps): string => signWithRing(deps.ring(), toClaims(token, deps))

/** A session is never renewed beyond its lifetime, which begins with the first token that is known of it. */
function limitRenewal({ maxLifetimeSeconds }: IssueDeps, until: number | undefined, openedAt: number) {
  const max = maxLifetimeSeconds()
  return max === 0 ? until : Math.min(until ?? Number.POSITIVE_INFINITY, openedAt + max)
}

async function createForeignSession({ directory }: IssueDeps, name: string, token: RenewableToken): Promise<Session> {
  const account = await directory.findAccount(name)
  if (!account) throw new Refusal('user_not_found')
  const foreignToken = toForeignMark(name, [token.issuedAt, token.expiresAt])
  if (directory.isSessionEnded(foreignToken)) throw new Refusal('token_refused', { detail: 'too many sessions ended' })
  return { ...directory.createSession(account), foreignToken }
}

/** Whether the claims are those of a session that was opened here with a credential. A program may have made them up. */
export const hasIssuedForm = (claims: Claims): boolean =>
  typeof findMember(claims, 'jti') === 'string' &&
  typeof findMember(claims, GENERATION) === 'number' &&
  findMember(claims, FOREIGN_MARK) === undefined &&
  findMember(claims, 'allowed_paths') === undefined

/** A token without all claims of a session was issued by another party. */
export function readUserToken(
  claims: Claims,
  { name, exp, iat, jti, allowedPaths }: UserClaims,
  handler: string,
): UserToken {
  const generation = findMember(claims, GENERATION)
  const until = findMember(claims, RENEWABLE_UNTIL)
  const accessToken = findMember(claims, ACCESS_TOKEN)
  const mark = findMember(claims, FOREIGN_MARK)
  const foreignToken = typeof mark === 'string' ? mark : undefined
  const isIssued = jti !== undefined && iat !== undefined && typeof generation === 'number'
  return {
    kind: isIssued ? ISSUED_TOKEN : FOREIGN_TOKEN,
    handler,
    session: isIssued ? { id: jti, name, generation, issuedAt: iat, foreignToken } : undefined,
    issuedAt: iat,
    expiresAt: exp,
    renewableUntil: typeof until === 'number' ? until : undefined,
    accessToken: typeof accessToken === 'string' ? accessToken : undefined,
    allowedPaths,
  }
}
