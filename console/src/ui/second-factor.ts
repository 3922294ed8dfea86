import { shared } from '../texts.ts'

interface FactorOwner {
  readonly totp: boolean
  readonly passkeys?: number
}

/** The second factors of an account in words; empty: it has none. */
export const describeFactors = ({ totp, passkeys }: FactorOwner): string =>
  [...(totp ? [shared.users.totpOn] : []), ...(passkeys ? [shared.users.passkeyOn] : [])].join(', ')
