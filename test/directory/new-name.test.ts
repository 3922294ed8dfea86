import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findLookAlike, isNormalized } from '../../src/directory/new-name.ts'

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
