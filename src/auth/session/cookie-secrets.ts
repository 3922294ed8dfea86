import { type Clock, nowSeconds } from '../../base/clock.ts'
import { isSameSecret } from '../../base/compare.ts'

/**
 * The secrets of cookies and proxy tokens. The current one signs. Cookies made with an earlier one verify for one more
 * timeout, at most an hour; proxy tokens verify with the current one alone.
 */
export interface CookieSecrets {
  /** `undefined` where none is configured. */
  current(): Buffer | undefined
  /** All that verify now, the current one first. */
  living(): readonly Buffer[]
  /** Whether this is one of those: the very one, not one that reads alike. */
  isLiving(secret: Uint8Array): boolean
  /**
   * Sets a new secret; the empty text removes the current one. The same again changes nothing, except that
   * `dropsEarlier` removes every earlier secret at once.
   */
  replace(secret: string, options?: { readonly dropsEarlier?: boolean }): void
}

interface Retired {
  readonly secret: Buffer
  readonly until: number
}

interface State {
  readonly current: Buffer | undefined
  readonly retired: readonly Retired[]
}

export interface CookieSecretsOptions {
  readonly secret: string
  /** How long what a secret signed can live, in seconds. */
  readonly timeoutSeconds: () => number
  readonly clock: Clock
}

export function createCookieSecrets({ secret, timeoutSeconds, clock }: CookieSecretsOptions): CookieSecrets {
  let state: State = { current: toSecret(secret), retired: [] }
  const isAlive = ({ until }: Retired) => nowSeconds(clock) < until
  return {
    current: () => state.current,
    living: () => {
      const { current, retired } = state
      return [...(current ? [current] : []), ...retired.filter(isAlive).map((old) => old.secret)]
    },
    isLiving: (secret) =>
      state.current === secret || state.retired.some((old) => old.secret === secret && isAlive(old)),
    replace: (text, { dropsEarlier = false } = {}) => {
      const next = toSecret(text)
      const { current } = state
      const isSame = current === next || (current && next && isSameSecret(current, next))
      if (dropsEarlier) state = { current: isSame ? current : next, retired: [] }
      if (isSame || dropsEarlier) return
      const until = nowSeconds(clock) + toGraceSeconds(timeoutSeconds())
      const others = [...(current ? [{ secret: current, until }] : []), ...state.retired].filter(isAlive)
      state = { current: next, retired: others.filter((old) => !next || !isSameSecret(old.secret, next)) }
    },
  }
}

const MAX_GRACE_SECONDS = 3600

/** How long cookies made with a replaced secret verify. */
export const toGraceSeconds = (timeoutSeconds: number): number => Math.min(timeoutSeconds, MAX_GRACE_SECONDS)

const toSecret = (text: string): Buffer | undefined => (text === '' ? undefined : Buffer.from(text))
