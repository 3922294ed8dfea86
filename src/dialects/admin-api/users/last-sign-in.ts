import type { LastSignIn } from '../../../directory/store-port/sign-ins.ts'

/** The last sign-in with the password. `at` is ISO 8601. */
export interface ShownSignIn {
  readonly at: string
  readonly peer: string
}

/** `null`: none is known. */
export const showSignIn = (signIn: LastSignIn | undefined): ShownSignIn | null =>
  signIn ? { at: new Date(signIn.at * 1000).toISOString(), peer: signIn.peer } : null
