// Reads the configuration, with the rules that only the rooms which use an option know.
import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type LoadInput, openSettings, type SettingsReader } from '../config/load.ts'
import type { Reading } from '../config/read.ts'
import type { Rule } from '../config/settings.ts'
import { readPasswordRules } from '../passwords/password-rules.ts'

const ROOM_RULES: readonly Rule[] = [
  {
    about: ['chttpd_auth.password_regexp'],
    kind: 'bad-value',
    check: ({ values }) => {
      const reading = readPasswordRules(values.chttpd_auth.password_regexp)
      return reading.kind === 'problem' ? `[chttpd_auth] password_regexp: ${reading.message}` : undefined
    },
  },
]

/** Reads the files once. What it gives reads everything, as often as the run-time layer changes. */
export const openConfiguration = (input: Omit<LoadInput, 'rules'>): SettingsReader =>
  openSettings({ ...input, rules: ROOM_RULES })

/** Everything but the run-time layer, which is in the store. */
export const loadConfiguration = (input: Omit<LoadInput, 'rules'>): Reading => openConfiguration(input)([])

/** The folder of the configuration that was named first. */
export function findConfigFolder({ flags, env, cwd }: Omit<LoadInput, 'rules'>): string | undefined {
  const [first] = flags.configs.length > 0 ? flags.configs : (env['CARDEA_CONFIG'] ?? '').split(':')
  if (!first) return undefined
  const path = resolve(cwd, first)
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? path : dirname(path)
}
