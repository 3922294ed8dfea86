/**
 * The generation from which the sessions of an account count. It never decreases. It grows by random steps: a failover that
 * loses writes and a restored backup take it back, and then it must not reach a generation that was in use before.
 */
import { randomInt } from 'node:crypto'

/** Sessions and issued tokens of an earlier generation are revoked; tokens of other issuers need an `iat` after `seconds`. */
export interface SessionEpoch {
  readonly generation: number
  readonly seconds: number
  /** Not revoked with the others, because it has proved the second factor that was enabled. */
  readonly kept?: KeptSession
}

export interface KeptSession {
  readonly id: string
  /** The earlier generation in which it was opened. */
  readonly generation: number
}

/** The generation that a session with this id must have been opened in. */
export const generationOf = ({ generation, kept }: Pick<SessionEpoch, 'generation' | 'kept'>, id: string): number =>
  kept?.id === id ? kept.generation : generation

/** Those of users are lower, so that a session of a user is never valid for an administrator, or vice versa. */
export const LOWEST_OF_ADMINISTRATORS = 2 ** 48

const MAX_STEP = 2 ** 32
/** More than a user can use up: of the generations that are left, a step takes at most this part. */
const STEPS_LEFT = 4096

function nextGeneration(generation: number): number {
  const left = Math.floor((LOWEST_OF_ADMINISTRATORS - generation) / STEPS_LEFT)
  return generation + randomInt(1, Math.max(2, Math.min(MAX_STEP, left)))
}

/** The epoch of a name that was never used. */
export const startSessions = (): SessionEpoch => ({ generation: nextGeneration(0), seconds: 0 })

/** Revokes all current sessions and tokens, except the kept one. */
export const endSessions = (before: SessionEpoch, nowSeconds: number, kept?: KeptSession): SessionEpoch => ({
  generation: nextGeneration(before.generation),
  seconds: Math.max(before.seconds, nowSeconds),
  ...(kept && { kept }),
})

/** Revokes what either of the two revokes: a session that one of them keeps is revoked by the other. */
export const laterOf = (a: SessionEpoch, b: SessionEpoch): SessionEpoch => ({
  generation: Math.max(a.generation, b.generation),
  seconds: Math.max(a.seconds, b.seconds),
})
