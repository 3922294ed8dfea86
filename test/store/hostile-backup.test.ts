import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { fillStore, forge, restore, rewrite, save, withStore } from '../contract/store-backup.ts'
import { createIn } from '../contract/store-values.ts'
import { createSqlitePlace } from './places.ts'

/** Changes the texts of one table. */
const changeTexts = (table: string, change: (text: string) => string) => (file: string) =>
  forge(file, (name, row) => [row.map((cell) => (name === table && typeof cell === 'string' ? change(cell) : cell))])

type Hostile = readonly [what: string, change: (file: string) => void, message: RegExp]

const HOSTILE: readonly Hostile[] = [
  [
    'a record of a user that is not JSON',
    changeTexts('cardea_users', (text) => text.replace(/^\{.*"isActive":true.*/, '{"isActive":tr')),
    /^The backup is damaged: line \d+, a row of cardea_users: it cannot be read\. Nothing was changed/,
  ],
  [
    'a user without a password record',
    changeTexts('cardea_users', (text) => text.replace('"password":', '"other":')),
    /line \d+, a row of cardea_users: it cannot be read/,
  ],
  [
    'a name with a line end and an escape sequence',
    changeTexts('cardea_users', (text) => text.replace(/^ada$/, 'ada\n\u001b[2J')),
    /line \d+, a row of cardea_users: its name must not hold control characters\./,
  ],
  [
    'an audit record that is not JSON',
    changeTexts('cardea_audit', (text) => text.replace(/^\{.*/, '{')),
    /line \d+, a row of cardea_audit: it cannot be read/,
  ],
  [
    'no counter',
    (file) => forge(file, (table, row) => (table === 'cardea_state' ? [] : [row])),
    /cardea_state is empty/,
  ],
  [
    'a counter that was set back',
    (file) => forge(file, (table, row) => [table === 'cardea_state' ? row.map(() => 1) : row]),
    /the counter in cardea_state is lower than the number of a row/,
  ],
  [
    'a line of 17 MiB',
    (file) => rewrite(file, ([header = '']) => [header, 'x'.repeat(17 * 1024 * 1024)]),
    /^The backup is damaged: a line has more than 16777216 bytes\. Nothing was changed/,
  ],
]

describe('a complete backup with the right SHA-256 and', async () => {
  const [source, target] = [await createSqlitePlace(), await createSqlitePlace()]
  after(() => Promise.all([source.remove(), target.remove()]))
  const file = `${source.url.replace('sqlite:', '')}.backup`
  await withStore(source, fillStore)
  await save(source, file)
  await withStore(target, (store) => createIn(store, 'existing'))

  for (const [what, change, message] of HOSTILE) {
    it(`${what} is refused`, async () => {
      const hostile = `${file}.hostile`
      copyFileSync(file, hostile)
      change(hostile)
      await assert.rejects(restore(target, hostile, { mayReplace: true }), { name: 'BackupError', message })
      assert.ok(await withStore(target, (store) => store.findUser('existing')))
    })
  }

  it('a wrong record is refused with the number of its line', async () => {
    const hostile = `${file}.hostile`
    copyFileSync(file, hostile)
    changeTexts('cardea_users', (text) => (text === 'ada' ? 'a:a' : text))(hostile)
    let line = 0
    rewrite(hostile, (lines) => {
      line = lines.findIndex((text) => text.includes('"a:a"')) + 1
      return lines
    })
    await assert.rejects(restore(target, hostile), { message: new RegExp(`line ${line}, .*must not hold a colon`) })
  })

  it('nothing wrong is restored', async () => {
    await restore(target, file, { mayReplace: true })
  })
})
