/**
 * The processes of one server count as one. Each has a copy of all counters, and asks its own before a check. What came
 * of the check is decided by the first process, in one order for all, and is in every copy before the client learns of
 * it. So parallel attempts at many processes are as many as at one.
 */
import { Refusal } from '../../base/errors.ts'
import type { Siblings, Topic } from '../../base/siblings.ts'
import type { Guess, LimitedAccount } from './guess.ts'
import type { Limits } from './limits.ts'
import type { SignUpClient } from './sign-ups.ts'

/** What is counted, with what it is about. */
interface Counted {
  readonly confirm: Guess
  readonly failure: Guess
  readonly success: Guess
  readonly lift: LimitedAccount
  readonly signUp: SignUpClient
  readonly signedUp: SignUpClient
  readonly notSignedUp: SignUpClient
}

interface Row<Value> {
  /** Throws where the limits do not allow it. Only the first process calls it. */
  require?(value: Value): void
  /** Changes the counters, in every process. */
  apply?(value: Value): unknown
}

const toRows = (limits: Limits): { readonly [Kind in keyof Counted]: Row<Counted[Kind]> } => ({
  confirm: { require: limits.requireAllowed },
  failure: { require: limits.requireAllowed, apply: limits.countFailure },
  success: { apply: limits.countSuccess },
  lift: { apply: limits.lift },
  signUp: { require: limits.requireSignUp, apply: limits.reserveSignUp },
  signedUp: { apply: limits.noteSignUp },
  notSignedUp: { apply: limits.releaseSignUp },
})

type Count = { readonly [Kind in keyof Counted]: { readonly kind: Kind; readonly value: Counted[Kind] } }[keyof Counted]

const COUNT: Topic<Count, true> = { name: 'limits.count' }
const COUNTED: Topic<Count> = { name: 'limits.counted' }

/** What checks of passwords use. */
export type PasswordLimits = Pick<
  CommonLimits,
  'requireAllowed' | 'isAllowed' | 'isClean' | 'confirm' | 'countFailure' | 'countSuccess'
>

export type CommonLimits = ReturnType<typeof countTogether>

export function countTogether(limits: Limits, siblings: Siblings) {
  const rows = toRows(limits)
  // the value is that of its kind
  const rowOf = ({ kind }: Count) => rows[kind] as Row<Count['value']>
  siblings.answer(COUNTED, (count) => void rowOf(count).apply?.(count.value))
  siblings.answer(COUNT, async (count) => {
    const { require, apply } = rowOf(count)
    require?.(count.value)
    apply?.(count.value)
    if (apply) await siblings.tellAll(COUNTED, count)
    return true
  })
  /** Throws if the first process has not decided, because it has just started. */
  const count = async (counted: Count): Promise<void> => {
    if (!(await siblings.askFirst(COUNT, counted))) throw new Refusal('overloaded', { retryAfterSeconds: 1 })
  }
  return {
    requireAllowed: limits.requireAllowed,
    isAllowed: limits.isAllowed,
    isClean: limits.isClean,
    /** Throws like `requireAllowed`, by all failures that were counted until now. To be called when a check succeeded. */
    confirm: (guess: Guess): Promise<void> => count({ kind: 'confirm', value: guess }),
    /** Throws if the attempt was not allowed any more. Then it does not count, and the client must not learn more. */
    countFailure: (guess: Guess): Promise<void> => count({ kind: 'failure', value: guess }),
    /** Called with every request that has a password: most of them tell the others nothing new. */
    countSuccess(guess: Guess): void {
      if (limits.countSuccess(guess)) count({ kind: 'success', value: guess }).catch(() => {})
    },
    lift: (account: LimitedAccount): Promise<void> => count({ kind: 'lift', value: account }),
    /** Creates a user, or throws `too_many_sign_ups`. A user that cannot be created does not count. */
    async signUp<T>(client: SignUpClient, create: () => Promise<T>): Promise<T> {
      // before the password is hashed, so that requests at the same time do not pass the limit together
      await count({ kind: 'signUp', value: client })
      // what came of it is for the counters, not for the client
      const note = (kind: 'signedUp' | 'notSignedUp') => count({ kind, value: client }).catch(() => {})
      try {
        const created = await create()
        await note('signedUp')
        return created
      } catch (error) {
        await note('notSignedUp')
        throw error
      }
    },
  }
}
