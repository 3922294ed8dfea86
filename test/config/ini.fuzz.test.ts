import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readIni } from '../../src/config/ini.ts'
import { iniText, PROPERTIES } from './ini.properties.ts'

for (const [name, fails] of Object.entries(PROPERTIES)) {
  test(name, () => assert.equal(fails(500), undefined))
}

test('most generated texts contain entries', () => {
  const texts = fc.sample(iniText, { numRuns: 300, seed: 1 })
  const telling = texts.filter((text) => readIni(text).entries.length > 0)
  assert.ok(telling.length > 150, `${telling.length} of ${texts.length}`)
})
