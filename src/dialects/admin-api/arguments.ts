// Readers of what a caller sends: every member is looked at, and none that nobody knows is passed over in silence.
import { Refusal } from '../../base/errors.ts'
import { findMember, isJsonObject } from '../../base/json.ts'

export type Members = Readonly<Record<string, unknown>>

const refuse = (about: string): Refusal => new Refusal('bad_request', { about })

/** An object with no members but these. */
export function readMembers(value: unknown, known: readonly string[], what = 'The body'): Members {
  if (value === undefined) throw new Refusal('missing_body')
  if (!isJsonObject(value)) throw refuse(`${what} must be an object.`)
  const stranger = Object.keys(value).find((name) => !known.includes(name))
  if (stranger !== undefined) throw refuse(`${what} has a member nobody knows; known are ${known.join(', ')}.`)
  return value
}

type Guard<T> = (value: unknown) => value is T

const isText = (value: unknown): value is string => typeof value === 'string'
export const isFlag = (value: unknown): value is boolean => typeof value === 'boolean'
export const isTextList = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText)
export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)

/** A member that may be left out. */
export function findArgument<T>(members: Members, name: string, is: Guard<T>, expected: string): T | undefined {
  const value = findMember(members, name)
  if (value === undefined || is(value)) return value
  throw refuse(`${name} must be ${expected}.`)
}

export function requireArgument<T>(members: Members, name: string, is: Guard<T>, expected: string): T {
  const value = findArgument(members, name, is, expected)
  if (value === undefined) throw refuse(`${name} is missing.`)
  return value
}

export const findText = (members: Members, name: string): string | undefined =>
  findArgument(members, name, isText, 'a text')

export const requireText = (members: Members, name: string): string => requireArgument(members, name, isText, 'a text')

/** A whole number of the query, within its bounds. */
export function readCount(query: URLSearchParams, name: string, initial: number, most: number): number {
  const text = query.get(name)
  if (text === null) return initial
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > most) throw refuse(`${name} must be a number from 1 to ${most}.`)
  return count
}
