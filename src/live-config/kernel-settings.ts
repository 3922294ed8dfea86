// What the options say about passwords, events and the audit trail.
import type { Config } from '../config/options.ts'
import type { KernelSettings } from '../kernel/kernel.ts'
import { createLengthRule, type PasswordRules, readPasswordRules } from '../passwords/password-rules.ts'
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
  return min > 0 ? [createLengthRule(min), ...reading.rules] : reading.rules
}

export const toKernelSettings = (config: Config): KernelSettings => ({
  startTimeoutMs: config.store['start-timeout'] * 1000,
  hashQueue: config.hashing.queue,
  node: config.node.name,
  keyFile: config.audit['key-file'],
  webhookKeyFile: config.audit['webhook-key-file'],
  destinations: config.audit.destinations,
  maxFileBytes: config.audit['file-size'],
  maxFiles: config.audit['file-count'],
  keepDays: config.audit.keep,
  refusesUnrecorded: config.audit['on-failure'] === 'refuse',
})
