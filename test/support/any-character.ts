/** Every character. The unit `binary` of fast-check is the same, but takes 1.5 s to make a table of all of them. */
import fc from 'fast-check'

const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800
const LAST = 0x10ffff

const toCharacter = (index: number): string =>
  String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES)

function toIndex(text: unknown): number {
  const point = String(text).codePointAt(0) ?? 0
  const index = point < FIRST_SURROGATE ? point : point - SURROGATES
  if (toCharacter(index) !== text) throw new TypeError('not one character')
  return index
}

export const ANY_CHARACTER = fc.integer({ min: 0, max: LAST - SURROGATES }).map(toCharacter, toIndex)
