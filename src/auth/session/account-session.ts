// Sessions of whoever is in the directory: the cookie names them, and their record says the rest.
import { createHash, hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Clock, nowSeconds } from '../../base/clock.ts'
import { frame } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Account } from '../../directory/account.ts'
import type { Directory } from '../../directory/directory.ts'
import type { RenewedSession } from '../../directory/presented-session.ts'
import { isName } from '../foreign-identity.ts'
import type { AcceptedCredential } from '../handler.ts'
import type { CookieSecrets } from './cookie-secrets.ts'
import { type CookieSettings, type CookieTimeouts, lastExpiry } from './cookie-settings.ts'
import {
  type CookieRules,
  isRenewalDue,
  mintCookie,
  type ReadCookie,
  SESSION_ID_BYTES,
  type VerifiedCookie,
  verifyCookie,
} from './signed-cookie.ts'

export interface AccountSessionDeps {
  readonly secrets: CookieSecrets
  settings(): CookieSettings
  readonly timeouts: Pick<CookieTimeouts, 'living'>
  /** Keeps cookies of one place from being accepted at another; left out: the document door. */
  readonly purpose?: string
  readonly directory: Pick<Directory, 'findAccount' | 'createSession' | 'isSessionEnded' | 'isForeignTokenLive'>
  readonly clock: Clock
}

/** `undefined`: not genuine, over, or ended. */
export type Finding = MaybePromise<AcceptedCredential | undefined>

export interface AccountSessions {
  open(account: Account): RenewedSession
  /** What was found before, as far as it still holds: a browser sends its cookie with every request. */
  recall(text: string): Finding
  find(cookie: ReadCookie): Finding
}

export function createAccountSessions(given: AccountSessionDeps): AccountSessions {
  const known = new LRUCache<string, KnownSession>({ max: MAX_KNOWN })
  const deps: Deps = {
    ...given,
    mintOnce: createMintOnce(),
    remember: ({ text }, session) => void known.set(digestOf(text), session),
  }
  const { directory } = deps
  return {
    open: (account) => mint(account, directory.createSession(account, { hasPassword: true }).id, deps),
    recall(text) {
      const session = known.get(digestOf(text))
      if (!session) return undefined
      return andThen(directory.findAccount(session.name), (account) =>
        account && stillHolds(session, account, deps) ? accept(account, session, deps) : undefined,
      )
    },
    find: (cookie) =>
      isName(cookie.name)
        ? andThen(directory.findAccount(cookie.name), (account) => account && findOf(account, cookie, deps))
        : undefined,
  }
}

interface Deps extends AccountSessionDeps {
  readonly mintOnce: typeof mintCookie
  remember(cookie: ReadCookie, session: KnownSession): void
}

/** A session, and what made its cookie genuine. Nothing that could be sent: of the cookie itself only a digest is kept. */
interface KnownSession extends FoundSession {
  readonly name: string
  readonly secret: Uint8Array
  readonly algorithm: string
  readonly binding: string
}

const MAX_KNOWN = 16_384

const digestOf = (text: string): string => hash('sha256', text, 'base64')

/** As `verify` would say: the same secret, algorithm, account and timeout, and its time is not over. */
function stillHolds(known: KnownSession, account: Account, deps: Deps): boolean {
  const { timeoutSeconds: current, algorithms } = deps.settings()
  if (!algorithms.includes(known.algorithm) || deps.directory.isSessionEnded(known.id)) return false
  if (!deps.secrets.isLiving(known.secret)) return false
  const timeout = deps.timeouts.living().find((each) => bindingOf(account, each, deps) === known.binding)
  return timeout !== undefined && nowSeconds(deps.clock) < known.issuedAt + Math.min(timeout, current)
}

const MAX_AT_ONCE = 10_000

/** A page asks for many things at once, and who asks within one second is given one and the same cookie. */
function createMintOnce(): typeof mintCookie {
  const made = new Map<string, { readonly secret: Uint8Array; readonly value: string }>()
  let second = 0
  return (cookie, key) => {
    if (cookie.issuedAt !== second || made.size >= MAX_AT_ONCE) made.clear()
    second = cookie.issuedAt
    const place = frame([cookie.name, Buffer.from(cookie.id).toString('latin1'), key.salt, key.algorithm])
    const known = made.get(place)
    if (known?.secret === key.secret) return known.value
    const value = mintCookie(cookie, key)
    made.set(place, { secret: key.secret, value })
    return value
  }
}

function findOf(account: Account, cookie: ReadCookie, deps: Deps): Finding {
  const { directory } = deps
  const session = verify(cookie, account, deps)
  if (!session || directory.isSessionEnded(session.id)) return undefined
  if (!session.isClassic) return accept(account, session, deps)
  // no generation is bound to it, so only its time tells whether it is older than what ended
  const isLive = directory.isForeignTokenLive({ name: account.name, issuedAt: session.issuedAt })
  return andThen(isLive, (holds) => (holds ? accept(account, session, deps) : undefined))
}

function accept(account: Account, session: FoundSession, deps: Deps): AcceptedCredential {
  const expiresAt = lastExpiry(session.issuedAt, nowSeconds(deps.clock), deps.timeouts.living())
  return {
    kind: 'accepted',
    identity: account,
    session: { id: session.id, name: account.name, expiresAt, renew: () => renew(account, session, deps) },
  }
}

interface FoundSession {
  readonly id: string
  readonly issuedAt: number
  readonly isClassic: boolean
}

const saltOf = ({ password }: Account): string => ('salt' in password ? password.salt : '')

/**
 * What binds a cookie of ours beside the secret. The generation, so that it ends with it where the salt stays; the
 * timeout, see there.
 */
const bindingOf = (account: Account, timeoutSeconds: number, { purpose }: Pick<Deps, 'purpose'>): string =>
  `${saltOf(account)}:${account.sessionEpoch.generation}:${timeoutSeconds}${purpose === undefined ? '' : `:${purpose}`}`

function mint(account: Account, id: string, deps: Deps): RenewedSession {
  const { secrets, settings, clock, mintOnce } = deps
  const secret = secrets.current()
  if (!secret) throw new Refusal('internal', { detail: 'there is no secret to sign a cookie with' })
  const { timeoutSeconds, algorithms } = settings()
  const cookie = { name: account.name, issuedAt: nowSeconds(clock), id: Buffer.from(id, 'base64url') }
  const salt = bindingOf(account, timeoutSeconds, deps)
  return { value: mintOnce(cookie, { secret, salt, algorithm: algorithms[0] }), maxAgeSeconds: timeoutSeconds }
}

function renew(account: Account, { id, issuedAt }: FoundSession, deps: Deps) {
  const { timeoutSeconds } = deps.settings()
  const isDue = isRenewalDue(issuedAt, nowSeconds(deps.clock), timeoutSeconds)
  return isDue && deps.secrets.current() ? mint(account, id, deps) : undefined
}

function verify(cookie: ReadCookie, account: Account, deps: Deps): FoundSession | undefined {
  const { timeoutSeconds: current, algorithms } = deps.settings()
  const rules = { secrets: deps.secrets.living(), algorithms, nowSeconds: nowSeconds(deps.clock) }
  for (const timeout of deps.timeouts.living()) {
    const timeoutSeconds = Math.min(timeout, current)
    const binding = bindingOf(account, timeout, deps)
    const own = check(cookie, { ...rules, salt: binding, timeoutSeconds })
    if (!own?.id) continue
    const { name, issuedAt, secret, algorithm } = own
    const session = { id: own.id.toString('base64url'), issuedAt, isClassic: false }
    deps.remember(cookie, { ...session, name, secret, algorithm, binding })
    return session
  }
  // another server makes cookies of the document door alone
  if (deps.purpose !== undefined) return undefined
  // without a salt the key would be the bare secret, and a proxy's token for some name could pass for a cookie
  const classic = saltOf(account) && check(cookie, { ...rules, salt: saltOf(account), timeoutSeconds: current })
  return classic && !classic.id ? { id: classicIdOf(cookie), issuedAt: classic.issuedAt, isClassic: true } : undefined
}

function check(cookie: ReadCookie, rules: CookieRules): VerifiedCookie | undefined {
  const verdict = verifyCookie(cookie, rules)
  return verdict.kind === 'verified' ? verdict : undefined
}

/** A classic cookie names no session: what it says stands for one, so that it can be ended and renewed like any other. */
const classicIdOf = ({ head, tail }: ReadCookie): string =>
  createHash('sha256').update(head).update(tail).digest().subarray(0, SESSION_ID_BYTES).toString('base64url')
