/** The generation from which the sessions of an account count. It never decreases. */

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

export const NO_SESSIONS_ENDED: SessionEpoch = Object.freeze({ generation: 0, seconds: 0 })

/** Revokes all current sessions and tokens, except the kept one. */
export const endSessions = (before: SessionEpoch, nowSeconds: number, kept?: KeptSession): SessionEpoch => ({
  generation: before.generation + 1,
  seconds: Math.max(before.seconds, nowSeconds),
  ...(kept && { kept }),
})

/** Revokes what either of the two revokes: a session that one of them keeps is revoked by the other. */
export const laterOf = (a: SessionEpoch, b: SessionEpoch): SessionEpoch => ({
  generation: Math.max(a.generation, b.generation),
  seconds: Math.max(a.seconds, b.seconds),
})
