// Signing in at the multi-model door: with a password or an access token, for one request or for a token.

import type { PasswordCheck } from '../../auth/basic.ts'
import type { AcceptedCredential, CredentialSource } from '../../auth/handler.ts'
import { toIssuedClaims } from '../../auth/issued-token.ts'
import type { SessionRecorder } from '../../auth/record-sessions.ts'
import type { Attempt, DoorSignIn } from '../../auth/sign-in.ts'
import { type Clock, nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { findActiveToken, findTokenUser, toTokenMark } from '../../directory/access-token.ts'
import type { Account } from '../../directory/account.ts'
import type { AccountDirectory, SessionDirectory } from '../../directory/directory.ts'
import type { BearerToken } from '../../directory/identity.ts'
import type { Session } from '../../directory/session.ts'
import { type AccessToken, checkName } from '../../directory/user.ts'
import { type KeyRing, signWithRing } from '../../keys/ring.ts'
import type { OriginFields } from '../../observe/security-event-table.ts'
import type { SecurityEvents } from '../../observe/security-events.ts'
import type { AuthSettings, IssuedBearer, SignIns } from './auth.ts'
import { MULTI_MODEL_BASIC } from './basic.ts'

export interface SignInsDeps {
  readonly directory: AccountDirectory & SessionDirectory
  readonly signIn: DoorSignIn
  readonly events: SecurityEvents
  readonly recorder: SessionRecorder
  ring(): KeyRing
  readonly issuer: string
  settings(): AuthSettings
  /** How long a verified password counts for Basic; `undefined`: as long as it is the same. */
  basicAgeMs(): number | undefined
  readonly clock: Clock
}

export interface MultiModelSignIns extends SignIns {
  /** Whose name and password these are, for one request. */
  readonly check: PasswordCheck
  /** Whether these are name and password of somebody, who need not come in with them alone. */
  isPassword(name: string, password: string, source: CredentialSource): Promise<boolean>
}

interface Admitted {
  readonly account: Account
  /** The access token it rests on. */
  readonly token: AccessToken | undefined
}

export function createMultiModelSignIns(deps: SignInsDeps): MultiModelSignIns {
  const { directory, clock } = deps
  const now = () => nowSeconds(clock)
  return {
    async check(name, password, source) {
      const maxAgeMs = deps.basicAgeMs()
      const age = maxAgeMs === undefined ? {} : { maxAgeMs }
      const admitted = await admit(deps, { name, password, source, handler: MULTI_MODEL_BASIC.name, ...age })
      return admitted?.token ? toAccepted(admitted.account, admitted.token) : admitted?.account
    },
    isPassword: async (name, password, source) =>
      (await admit(deps, { name, password, source, handler: CHECK_ENDPOINT, isWithoutCode: true })) !== undefined,
    async signIn({ name, password, code }, lifetimeSeconds, source) {
      const admitted = await admit(deps, { name, password, code, source, handler: SIGN_IN_ENDPOINT })
      if (!admitted) return undefined
      const { account, token } = admitted
      const session = directory.createSession(account, { hasPassword: token === undefined })
      const accessToken = token && toTokenMark(token)
      const rest = { renewableUntil: token?.validUntil, accessToken, allowedPaths: undefined }
      const expiresAt = now() + lifetimeSeconds
      const issued = issue(deps, session, expiresAt, rest)
      deps.recorder.onOpened({ id: session.id, identity: account, expiresAt }, source)
      recordToken(deps, account.name, { actor: account.name, handler: SIGN_IN_ENDPOINT })
      return issued
    },
    async renew(name, bearer, lifetimeSeconds) {
      const session = bearer.session ?? (await open(directory, name))
      const issued = issue(deps, session, now() + lifetimeSeconds, bearer)
      if (!bearer.session) recordToken(deps, name)
      return issued
    },
    async end(issued) {
      await end(deps, issued)
      deps.events.record('sign-out', { subject: issued.session.name })
    },
  }
}

const SIGN_IN_ENDPOINT = '_open/auth'
const CHECK_ENDPOINT = '_api/user'

const recordToken = ({ events }: SignInsDeps, subject: string, origin: OriginFields = {}): void =>
  events.record('sign-in.accepted', { subject, opened: 'token', ...origin })

const toAccepted = (identity: Account, token: AccessToken): AcceptedCredential => ({
  kind: 'accepted',
  identity,
  accessToken: { mark: toTokenMark(token), validUntil: token.validUntil },
})

interface Credentials extends Pick<Attempt, 'name' | 'password' | 'code' | 'maxAgeMs' | 'isWithoutCode' | 'handler'> {
  readonly source: CredentialSource
}

async function admit(deps: SignInsDeps, { source, ...given }: Credentials): Promise<Admitted | undefined> {
  const byToken = await findByToken(deps, given)
  // at once, because it costs nothing: a password would be hashed, and its failure counted
  if (byToken && byToken.account.totp === undefined) return byToken
  // a wrong token, or a name no user can have, is a failure like any other: its peer must not go on for ever
  const name = byToken?.account.name ?? (given.name || (findTokenUser(given.password) ?? ''))
  const isProven = (account: Account) => findActiveToken(account, given.password, nowSeconds(deps.clock)) !== undefined
  try {
    const account = await deps.signIn({
      ...given,
      name,
      ...(byToken ? { isProven } : {}),
      source,
    })
    const isNamed = byToken !== undefined || given.name !== ''
    return account && isNamed ? { account, token: byToken?.token } : undefined
  } catch (error) {
    if (error instanceof Refusal && LOOKS_WRONG.has(error.code)) return undefined
    throw error
  }
}

/** At this door these look like a wrong password. */
const LOOKS_WRONG: ReadonlySet<string> = new Set(['account_locked', 'iterations_too_low', 'iterations_too_high'])

/** An access token in place of the password. The name may be left out. Who has a second factor needs its code as well. */
async function findByToken(
  { directory, clock }: SignInsDeps,
  { name, password }: Pick<Credentials, 'name' | 'password'>,
): Promise<Admitted | undefined> {
  const user = findTokenUser(password)
  if (user === undefined || (name !== '' && name !== user) || checkName(user) !== undefined) return undefined
  const account = await directory.findAccount(user)
  if (!account || account.isAdmin) return undefined
  const token = findActiveToken(account, password, nowSeconds(clock))
  return token && { account, token }
}

/** What a token hands on to the one that is made in its place. */
type Inherited = Pick<BearerToken, 'renewableUntil' | 'accessToken' | 'allowedPaths'>

function issue(deps: SignInsDeps, session: Session, expiresAt: number, inherited: Inherited): string {
  const { renewableUntil, accessToken, allowedPaths } = inherited
  const claims = toIssuedClaims({
    session,
    issuer: deps.issuer,
    issuedAt: nowSeconds(deps.clock),
    expiresAt: Math.min(expiresAt, renewableUntil ?? expiresAt),
    renewableUntil,
    accessToken,
    allowedPaths,
  })
  return signWithRing(deps.ring(), claims)
}

/** For a token somebody else made: from here on it is one of ours. */
async function open(directory: AccountDirectory & SessionDirectory, name: string): Promise<Session> {
  const account = await directory.findAccount(name)
  if (!account) throw new Refusal('user_not_found')
  return directory.createSession(account)
}

/** No copy of the session is accepted later than this one, or than one renewed just now. */
async function end(deps: SignInsDeps, { session, expiresAt, accessToken }: IssuedBearer): Promise<void> {
  const { sessionTimeoutSeconds, maximalExpirySeconds } = deps.settings()
  const renewed = nowSeconds(deps.clock) + Math.max(sessionTimeoutSeconds, maximalExpirySeconds)
  const last = Math.ceil(Math.max(expiresAt ?? 0, renewed))
  await deps.directory.endSession({ id: session.id, name: session.name, expiresAt: last, accessToken })
}
