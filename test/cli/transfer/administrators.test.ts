import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readAdministratorFile, renderAdministrators } from '../../../src/cli/transfer/administrators.ts'

const HASH = `-hashed-${'a'.repeat(40)},salt`

const TEXTS: readonly [row: string, text: string, found: readonly unknown[]][] = [
  ['nothing', '', []],
  ['no such section', '[chttpd]\nport = 1\n', []],
  ['a section', `; head\n[admins]\nroot = ${HASH}\n`, [[3, 'administrator', 'root']]],
  ['several sections: the last counts', `[admins]\na = ${HASH}\n[admins]\nb = ${HASH}\n`, [[4, 'administrator', 'b']]],
  [
    'an invalid entry',
    '[admins]\n_a = x\nb = -pbkdf2-x\n',
    [
      [2, 'refused', '_a'],
      [3, 'refused', 'b'],
    ],
  ],
  [
    'JSON',
    JSON.stringify({ root: HASH, bad: 7 }),
    [
      [undefined, 'administrator', 'root'],
      [undefined, 'refused', 'bad'],
    ],
  ],
  ['JSON with a duplicate name', `{"root":"${HASH}","root":"x"}`, [[undefined, 'refused', undefined]]],
  ['broken JSON', '{"root":', [[undefined, 'refused', undefined]]],
]

describe('reading administrators of CouchDB from', () => {
  for (const [row, text, found] of TEXTS) {
    it(row, () => {
      const readings = readAdministratorFile(text)
      assert.deepEqual(
        readings.map(({ line, reading }) => [line, reading.kind, reading.id]),
        found,
      )
    })
  }
})

describe('writing administrators as a section', () => {
  it('writes what can be read back, and reports the others', () => {
    const names = ['root', 'a b', 'ž', '[x]', 'a = b', 'a=b', 'a ;b', 'c;d', ';e']
    const { text, lost } = renderAdministrators(names.map((name) => ({ name, text: HASH })))
    const read = readAdministratorFile(text).map(({ reading }) => reading.id)
    assert.deepEqual([...read, ...lost].sort(), [...names].sort())
    assert.deepEqual(lost, ['[x]', 'a = b', 'a ;b', ';e'])
  })

  it('writes no plain-text passwords', () => {
    assert.deepEqual(renderAdministrators([{ name: 'root', text: 'secret' }]), { text: '[admins]\n', lost: ['root'] })
  })
})
