// The session of an administrator that confirmed a second factor stays until anything else ends the sessions.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SESSIONS_OF_ADMINISTRATORS as EPOCHS, readAdministrators } from '../../src/directory/administrators.ts'
import type { Setting } from '../../src/directory/store-port/settings.ts'
import { ADMINS, toChanges } from '../../src/live-config/stored-layer.ts'

const STORED = '-pbkdf2-1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d,salt,10'
const OTHER = STORED.replace('salt', 'pepper')

const findEpoch = (text: string, settings: readonly Setting[]) =>
  readAdministrators([{ name: 'ada', text }], toChanges(settings)).accounts.get('ada')

const { version = '' } = findEpoch(STORED, []) ?? {}
const kept = { id: 'session', generation: 7, version }
const settingOf = (section: string, sequence: number, text: string): Setting => ({
  ...{ section, key: 'ada', sequence, mark: '', text, changedAt: 100 },
})
const RAISED = settingOf(EPOCHS, 5, JSON.stringify(kept))

const ROWS: readonly [what: string, text: string, settings: readonly Setting[], isKept: boolean][] = [
  ['after the confirmation', STORED, [RAISED], true],
  ['with an earlier entry', STORED, [settingOf(ADMINS, 4, STORED), RAISED], true],
  ['with a later entry', STORED, [settingOf(ADMINS, 6, STORED), RAISED], false],
  ['with another password in a file', OTHER, [RAISED], false],
  ['after all sessions were ended', STORED, [settingOf(EPOCHS, 6, '')], false],
  ['with a record that is no session', STORED, [settingOf(EPOCHS, 5, '{"id":1}')], false],
]

for (const [what, text, settings, isKept] of ROWS)
  test(`${what} it ${isKept ? 'stays' : 'ends'}, in any order of the records`, () => {
    for (const list of [settings, [...settings].reverse()])
      assert.deepEqual(findEpoch(text, list)?.sessionEpoch.kept, isKept ? kept : undefined)
  })
