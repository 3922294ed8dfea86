import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findLookAlike, hasInvisible, isNormalized } from '../../../src/directory/users/check-user.ts'

describe('a name in NFC', () => {
  for (const [name, expected] of [
    ['alice', true],
    ['Amélie', true],
    ['Ame\u0301lie', false],
    // Kelvin and Ångström signs, whose canonical form is a letter
    ['\u212a', false],
    ['\u212b', false],
    ['ﬁ', true],
    ['🦊', true],
  ] as const) {
    it(`${JSON.stringify(name)}: ${expected}`, () => assert.equal(isNormalized(name), expected))
  }
})

describe('a name that looks like "admin" or "straße"', () => {
  for (const [name, expected] of [
    ['Admin', 'admin'],
    ['ADMIN', 'admin'],
    ['ａｄｍｉｎ', 'admin'],
    ['𝐚𝐝𝐦𝐢𝐧', 'admin'],
    ['admın', 'admin'],
    ['STRASSE', 'straße'],
    ['Straße', 'straße'],
    ['admin', undefined],
    ['admins', undefined],
    ['administrator', undefined],
  ] as const) {
    it(`${name}: ${expected}`, () => assert.equal(findLookAlike(name, ['admin', 'straße']), expected))
  }
})

describe('a name with invisible characters', () => {
  for (const [what, name, expected] of [
    ['zero-width space', 'ad\u200bmin', true],
    ['zero-width joiner', 'ad\u200dmin', true],
    ['soft hyphen', 'ad\u00admin', true],
    ['Hangul filler', 'admin\u3164', true],
    ['variation selector', 'admin\ufe0f', true],
    ['tag character', 'admin\u{e0041}', true],
    ['right-to-left override', '\u202enimda', true],
    ['right-to-left mark', 'admin\u200f', true],
    ['Arabic letter mark', 'admin\u061c', true],
    ['isolate', '\u2067nimda', true],
    ['Arabic letters', 'سلمى', false],
    ['Hangul', '지민', false],
    ['combining marks', 'กำ', false],
    ['emoji', '🦊', false],
  ] as const) {
    it(`${what}: ${expected}`, () => assert.equal(hasInvisible(name), expected))
  }
})
