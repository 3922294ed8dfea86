// What the options say about new passwords.
import type { Config } from '../config/options.ts'
import {
  createKnownRule,
  createLengthRule,
  type PasswordRules,
  readPasswordRules,
} from '../passwords/password-rules.ts'
import type { HashParameters } from '../passwords/schemes/scheme.ts'

/** Within the limits for users: a user with a new password must be able to sign in with it. */
export const toHashParameters = ({ chttpd_auth: auth }: Config): HashParameters => ({
  scheme: auth.password_scheme,
  prf: auth.pbkdf2_prf,
  iterations: Math.min(Math.max(auth.iterations, auth.min_iterations), auth.max_iterations),
})

/** Never throws for a configuration that was accepted: its rules were read then. */
export function toPasswordRules({ chttpd_auth, auth }: Config): PasswordRules {
  const reading = readPasswordRules(chttpd_auth.password_regexp)
  if (reading.kind === 'problem') throw new TypeError(reading.message)
  const min = auth['min-password-length']
  return [
    ...(min > 0 ? [createLengthRule(min)] : []),
    ...reading.rules,
    ...(auth['password-check'] === 'on' ? [createKnownRule(auth['password-file'])] : []),
  ]
}
