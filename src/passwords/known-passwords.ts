/**
 * Passwords that attackers try first: those of a list, what people make of them, runs and rows of characters, and the
 * names around an account. Everything is compared without case.
 */
import { existsSync, readFileSync } from 'node:fs'
import { PRODUCT } from '../base/product.ts'

/** A line each, ordered, after the notice and an empty line. The path is the same from the sources and the compiled package. */
const LIST = new URL('../../etc/known-passwords.txt', import.meta.url)

/** A program that a bundler has put into one file lacks it. */
export const hasKnownPasswords = (): boolean => existsSync(LIST)

/** The lines, from the line break before the first to that after the last. */
let loaded: string | undefined

/** Loaded with the first password that is checked. */
function loadKnownPasswords(): string {
  if (loaded !== undefined) return loaded
  const text = readFileSync(LIST, 'latin1')
  loaded = text.slice(text.indexOf('\n\n') + 1)
  return loaded
}

/** Halves the lines. To make a set of them took 27 ms, in which no request went on; this takes 3 ms the first time. */
function isListed(text: string): boolean {
  const lines = loadKnownPasswords()
  let first = 0
  let end = lines.length - 1
  while (first < end) {
    // both are line breaks before a line
    const middle = lines.lastIndexOf('\n', (first + end) >> 1)
    const next = lines.indexOf('\n', middle + 1)
    const line = lines.slice(middle + 1, next)
    if (line === text) return true
    if (line < text) first = next
    else end = middle
  }
  return false
}

/** Both directions of each. Digits go on after 9. */
const ROWS: readonly string[] = [
  '012345678901234567890',
  'abcdefghijklmnopqrstuvwxyz',
  '!@#$%^&*()_+',
  'qwertyuiop[]',
  "asdfghjkl;'",
  'zxcvbnm,./',
  'qwertzuiop',
  'yxcvbnm',
  'azertyuiop',
  'qsdfghjklm',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/',
  '1q2w3e4r5t6y7u8i9o0p',
].flatMap((row) => [row, [...row].reverse().join('')])

const LEAST_OF_ROW = 3

/** How many characters from here on follow each other in a row. */
function measureRow(text: string, from: number): number {
  let length = 0
  while (from + length < text.length && ROWS.some((row) => row.includes(text.slice(from, from + length + 1)))) length++
  return length
}

/** Whether it is nothing but parts of rows, such as `qwerty123456`. */
function isRows(text: string): boolean {
  let at = 0
  while (at < text.length) {
    const length = measureRow(text, at)
    if (length < LEAST_OF_ROW) return false
    at += length
  }
  return text !== ''
}

/** The text without up to four digits or signs before and after it, in every combination. */
function* coresOf(text: string): Generator<string, undefined> {
  const [before = ''] = /^\P{L}{0,4}/u.exec(text) ?? []
  const [after = ''] = /\P{L}{0,4}$/u.exec(text) ?? []
  for (let first = 0; first <= before.length; first += 1)
    for (let last = text.length; last >= text.length - after.length; last -= 1) yield text.slice(first, last)
}

function isRepeated(text: string): boolean {
  for (let length = 1; length <= text.length / 2; length += 1) {
    const part = text.slice(0, length)
    if (text.length % length === 0 && isListed(part) && part.repeat(text.length / length) === text) return true
  }
  return false
}

const KINDS: readonly (readonly [isKind: (text: string) => boolean, flaw: string])[] = [
  [(text) => /^(.)\1*$/su.test(text), 'It is one character, repeated.'],
  [isRows, 'It is made of rows of digits, letters or keys.'],
  [isListed, 'It is a known password.'],
  [(text) => coresOf(text).some(isListed), 'It is a known password with digits or signs before or after it.'],
  [(text) => coresOf(text).some(isRepeated), 'It is a known password, repeated.'],
]

const LEAST_OF_NAME = 4

/** A name that is an address is also found by what is before the `@`. */
const findName = (text: string, names: readonly string[]): string | undefined =>
  names
    .flatMap((name) => [name, name.replace(/@.*$/s, '')])
    .find((name) => [...name].length >= LEAST_OF_NAME && text.includes(name.toLowerCase()))

/** What makes a password easy to guess, as a sentence. `names`: the name of the account, and its address if it has one. */
export function findKnownFlaw(password: string, names: readonly string[]): string | undefined {
  const text = password.toLowerCase()
  const kind = KINDS.find(([isKind]) => isKind(text))
  if (kind) return kind[1]
  if (findName(text, names) !== undefined) return 'It contains the name or address of the account.'
  return findName(text, [PRODUCT.name]) === undefined ? undefined : `It contains the name ${PRODUCT.name}.`
}
