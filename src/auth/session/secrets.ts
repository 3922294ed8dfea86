/**
 * The secrets and timeouts that session cookies were made with. A new one is used at once; cookies made with an
 * earlier one still verify for a limited time.
 */
import { type Clock, nowSeconds } from '../../base/clock.ts'
import { isSameSecret } from '../../base/compare.ts'
import { deriveLive } from '../../base/live.ts'

interface RotationOptions<T> {
  readonly first: T
  /** Those that were replaced before. */
  readonly earlier?: readonly Retired<T>[]
  readonly isSame: (one: T, other: T) => boolean
  /** How long a value counts after it was replaced. */
  readonly toGraceSeconds: (replaced: T) => number
  readonly maxRetired?: number
  readonly clock: Clock
}

interface Retired<T> {
  readonly value: T
  /** Seconds since the epoch. */
  readonly until: number
}

/** One current value, and earlier ones until their grace is over. */
function createRotation<T>({ first, earlier: known = [], ...options }: RotationOptions<T>) {
  const { isSame, toGraceSeconds, maxRetired, clock } = options
  let current = first
  let retired = known
  let accepted: readonly T[] = [first, ...known.map(({ value }) => value)]
  const set = (value: T, earlier: readonly Retired<T>[]): void => {
    current = value
    retired = earlier
    accepted = [value, ...earlier.map((each) => each.value)]
  }
  const dropExpired = (): void => {
    const left = retired.filter(({ until }) => nowSeconds(clock) < until)
    if (left.length < retired.length) set(current, left)
  }
  return {
    current: () => current,
    /** The current value first. The same list until one is added or removed. */
    accepted(): readonly T[] {
      if (retired.length > 0) dropExpired()
      return accepted
    },
    replace(next: T): void {
      if (isSame(current, next)) return
      dropExpired()
      const until = nowSeconds(clock) + toGraceSeconds(current)
      const earlier = [{ value: current, until }, ...retired].filter(({ value }) => !isSame(value, next))
      set(next, earlier.slice(0, maxRetired))
    },
    dropRetired: (): void => set(current, []),
  }
}

export type CookieSecrets = ReturnType<typeof createCookieSecrets>

/** The secrets of session cookies and proxy tokens. Proxy tokens verify with the current secret only. */
export function createCookieSecrets(options: {
  readonly secret: string
  timeoutSeconds(): number
  readonly clock: Clock
}) {
  const { secret, timeoutSeconds, clock } = options
  const secrets = createRotation({
    first: toSecret(secret),
    isSame: (one, other) => one === other || (one !== undefined && other !== undefined && isSameSecret(one, other)),
    toGraceSeconds: () => toGraceSeconds(timeoutSeconds()),
    clock,
  })
  return {
    /** The secret that signs; `undefined` where none is configured. */
    current: secrets.current,
    /** All secrets that verify now, the current one first. The same list until one is added or removed. */
    accepted: deriveLive({ get: secrets.accepted }, (all) => all.filter((each) => each !== undefined)).get,
    /** Sets a new secret; the empty text removes the current one. `dropsEarlier` rejects every earlier secret at once. */
    replace(text: string, { dropsEarlier = false }: { readonly dropsEarlier?: boolean } = {}): void {
      secrets.replace(toSecret(text))
      if (dropsEarlier) secrets.dropRetired()
    },
  }
}

const MAX_GRACE_SECONDS = 3600

/** How long cookies made with a replaced secret verify. */
export const toGraceSeconds = (timeoutSeconds: number): number => Math.min(timeoutSeconds, MAX_GRACE_SECONDS)

const toSecret = (text: string): Buffer | undefined => (text === '' ? undefined : Buffer.from(text))

/** The timeouts that cookies which have not expired can have been made under. */
export type CookieTimeouts = ReturnType<typeof createCookieTimeouts>

/** A timeout that was replaced. */
interface EarlierTimeout {
  readonly seconds: number
  /** Seconds since the epoch. */
  readonly until: number
}

export const MAX_RETIRED_TIMEOUTS = 10

/**
 * A cookie is bound to its timeout because the revocation of a session is kept only until its last cookie expires. If
 * a raised timeout prolonged existing cookies, a revoked session would be accepted again.
 */
export const createCookieTimeouts = (first: number, clock: Clock, earlier: readonly EarlierTimeout[] = []) =>
  createRotation({
    first,
    earlier: earlier.map(({ seconds, until }) => ({ value: seconds, until })),
    isSame: (one, other) => one === other,
    toGraceSeconds: (seconds) => seconds,
    maxRetired: MAX_RETIRED_TIMEOUTS,
    clock,
  })

/** Requests that are running when a session is revoked can still renew its cookie. */
export const RUNNING_REQUESTS_SECONDS = 600

/** When the last cookie expires of a session that is revoked now. */
export const lastExpiry = (issuedAt: number, now: number, timeouts: readonly number[]): number =>
  Math.max(issuedAt, now) + Math.max(...timeouts) + RUNNING_REQUESTS_SECONDS
