import { shared } from '../texts.ts'

interface FactorOwner {
  readonly totp: boolean
  readonly hasPasskeys?: boolean
}

/** The second factors of an account in words; empty: it has none. */
export const describeFactors = ({ totp, hasPasskeys }: FactorOwner): string =>
  [...(totp ? [shared.users.totpOn] : []), ...(hasPasskeys ? [shared.users.passkeyOn] : [])].join(', ')
