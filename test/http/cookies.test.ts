import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { findOnlyCookie, readCookies } from '../../src/http/cookies.ts'

const NAME = 'AuthSession'

test('a cookie that is sent alone is found at once', () => {
  assert.equal(findOnlyCookie(`${NAME}=YWRhOjY1`, NAME), 'YWRhOjY1')
  assert.equal(findOnlyCookie(`${NAME}=`, NAME), '')
})

test('every other header is left to the parser', () => {
  for (const header of [
    `${NAME}=a; b=c`,
    `${NAME}="a"`,
    `${NAME}=a `,
    `b=c; ${NAME}=a`,
    `${NAME} =a`,
    `${NAME}s=a`,
    NAME,
  ])
    assert.equal(findOnlyCookie(header, NAME), undefined, header)
})

test('a cookie that is found at once has the value that the parser reads', () => {
  const unit = fc.constantFrom(NAME, '=', 'a', '"', '\\', ';', ',', ' ', '\t', '\u{a0}', '$', '%')
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 8 }), (rest) => {
      const header = NAME + rest
      const found = findOnlyCookie(header, NAME)
      if (found !== undefined) assert.equal(found, readCookies(header).get(NAME))
    }),
    { numRuns: 5000 },
  )
})
