/**
 * The timeouts that session cookies were made under, as the store keeps them: a cookie is bound to its timeout, and
 * without those of before its start a node would reject cookies that another one accepts.
 */
import { MAX_RETIRED_TIMEOUTS } from '../auth/session/secrets.ts'
import { readJson } from '../base/json.ts'
import type { Config } from '../config/options.ts'

/** The options that are timeouts of cookies. */
const TIMEOUTS = {
  'chttpd_auth.timeout': ({ chttpd_auth }: Config) => chttpd_auth.timeout,
  'admin.session-timeout': ({ admin }: Config) => admin['session-timeout'],
} as const

export type TimeoutOption = keyof typeof TIMEOUTS

const OPTIONS = Object.keys(TIMEOUTS) as readonly TimeoutOption[]

export const findTimeout = (option: TimeoutOption, values: Config): number => TIMEOUTS[option](values)

export interface KeptTimeout {
  readonly option: string
  readonly seconds: number
  /** When the last cookie made under it expires, in seconds since the epoch; `null`: it was the current one. */
  readonly until: number | null
}

/** A text of any other form holds no timeout. */
export function readTimeouts(text: string): readonly KeptTimeout[] {
  const reading = readJson(text)
  const rows: readonly unknown[] = reading.kind === 'json' && Array.isArray(reading.value) ? reading.value : []
  return rows.flatMap((row) => {
    const [option, seconds, until]: readonly unknown[] = Array.isArray(row) ? row : []
    const isTime = until === null || typeof until === 'number'
    return typeof option === 'string' && typeof seconds === 'number' && isTime ? [{ option, seconds, until }] : []
  })
}

export const renderTimeouts = (kept: readonly KeptTimeout[]): string =>
  JSON.stringify(kept.map(({ option, seconds, until }) => [option, seconds, until]))

/** Whether the store has the current timeouts. Those that have not changed since `before` are not looked at. */
export const isKept = (kept: readonly KeptTimeout[], values: Config, before: Config | undefined): boolean =>
  OPTIONS.every((option) => {
    const current = findTimeout(option, values)
    const isSame = before !== undefined && findTimeout(option, before) === current
    return isSame || kept.some((each) => each.option === option && each.until === null && each.seconds === current)
  })

/** What the store has to keep from now on. */
export const toKept = (kept: readonly KeptTimeout[], values: Config, nowSeconds: number): readonly KeptTimeout[] =>
  OPTIONS.flatMap((option) => {
    const seconds = findTimeout(option, values)
    return [{ option, seconds, until: null }, ...listRetired(kept, option, seconds, nowSeconds)]
  })

/** Earlier timeouts of one option under which a cookie that has not expired can have been made, the latest first. */
export const listRetired = (kept: readonly KeptTimeout[], option: TimeoutOption, current: number, nowSeconds: number) =>
  kept
    .filter((each) => each.option === option && each.seconds !== current)
    .map((each) => ({ ...each, until: each.until ?? nowSeconds + each.seconds }))
    .filter(({ until }) => nowSeconds < until)
    .slice(0, MAX_RETIRED_TIMEOUTS)
