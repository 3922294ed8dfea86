// What the readers of all formats ask of a value. Each refusal tells the place, never the value.
import { Refusal } from '../../base/errors.ts'
import { isJsonObject } from '../../base/json.ts'
import type { Json, JsonObject } from '../user.ts'

export const refuse = (about: string): Refusal => new Refusal('bad_request', { about })

export function requireObject(value: unknown, what: string): JsonObject {
  if (!isJsonObject(value)) throw refuse(`${what} must be an object.`)
  // isJsonObject leaves open what is inside; all of it came from JSON
  return value as JsonObject
}

export function requireList(value: unknown, what: string): readonly Json[] {
  if (!Array.isArray(value)) throw refuse(`${what} must be a list.`)
  return value
}

export function requireText(value: unknown, what: string): string {
  if (typeof value !== 'string') throw refuse(`${what} must be a text.`)
  return value
}

export function requireFlag(value: unknown, what: string): boolean {
  if (typeof value !== 'boolean') throw refuse(`${what} must be true or false.`)
  return value
}

export function requireCount(value: unknown, what: string, most = Number.MAX_SAFE_INTEGER): number {
  const isCount = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= most
  if (!isCount) throw refuse(`${what} must be a whole number from 0 to ${most}.`)
  return value
}

export const requireTexts = (value: unknown, what: string): readonly string[] =>
  requireList(value, what).map((item) => requireText(item, `Each of ${what}`))
