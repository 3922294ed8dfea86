// What `--json` prints: a list as JSON lines, anything else as one object; every time as ISO 8601 in UTC.
import { isJsonObject } from '../base/json.ts'
import type { Context } from './context.ts'

/** Members that are times: in seconds, or in milliseconds since the epoch. */
const TIME = /^(?:at|time|now|until|[a-z]+At)$/
const FIRST_MILLISECONDS = 1e11

const toIsoTime = (value: number): string =>
  new Date(value < FIRST_MILLISECONDS ? value * 1000 : value).toISOString().replace('.000Z', 'Z')

const toShown = (name: string, value: unknown): unknown =>
  typeof value === 'number' && TIME.test(name) && value > 0 && value < 8.64e15 ? toIsoTime(value) : value

export const toJsonLine = (value: unknown): string => JSON.stringify(value, toShown)

export function printJson({ print }: Pick<Context, 'print'>, value: unknown): void {
  const list = Array.isArray(value) ? value : findOnlyList(value)
  if (list) for (const item of list) print(toJsonLine(item))
  else print(JSON.stringify(value, toShown, 2))
}

/** A reply that has nothing but a list. */
function findOnlyList(value: unknown): readonly unknown[] | undefined {
  const [only, ...others] = isJsonObject(value) ? Object.values(value) : []
  return others.length === 0 && Array.isArray(only) ? only : undefined
}
