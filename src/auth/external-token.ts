import type { CredentialKind } from '../directory/identity.ts'
import type { Verdict, WaitForVerdict } from './handler.ts'

/** A token of another issuer, whose accounts sign in as users. It proves no password; no browser sends it by itself. */
export const EXTERNAL_TOKEN: CredentialKind = { name: 'provider token' }

/** The name of sign-ins with external accounts in security events. */
export const EXTERNAL_ENDPOINT = 'provider'

/** `now`: seconds since the epoch. `undefined`: the token is not of such an issuer, and the handler checks it itself. */
export type FindExternalToken = (text: string, now: number) => Verdict | WaitForVerdict | undefined
