import { isClientError, Refusal } from '../base/errors.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { SignIn } from './sign-in.ts'

/** Records every refused password with the reason that the client is not told. */
export function recordSignIn(signIn: SignIn, events: SecurityEvents): SignIn {
  return (attempt) => {
    let reason = 'wrong name or password'
    const explain = (why: string): void => {
      reason = why
    }
    const record = (why: string) =>
      events.record('sign-in.refused', {
        subject: attempt.name,
        reason: why,
        peer: attempt.peer || undefined,
        handler: attempt.handler,
      })
    const settle = (account: Awaited<ReturnType<SignIn>>) => {
      if (!account) record(reason)
      return account
    }
    const fail = (error: unknown): never => {
      // Cardea's own trouble says nothing about the credential
      if (error instanceof Refusal && isClientError(error)) record(error.detail ?? error.message)
      throw error
    }
    try {
      const account = signIn({ ...attempt, explain })
      return account instanceof Promise ? account.then(settle, fail) : settle(account)
    } catch (error) {
      return fail(error)
    }
  }
}
