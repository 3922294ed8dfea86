import type { WriteOutcome } from '../../directory/store-port/changes.ts'
import type { Setting, SettingChange, SettingList, SettingStore } from '../../directory/store-port/settings.ts'
import { type Engine, numberOf, type Operation, one, type Row, textOf } from '../engine.ts'
import { requireKey, requireStorableText } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'
import { lockCounters, writeCounters } from './changes.ts'

export const createSettingStore = (engine: Engine): SettingStore => ({
  listSettings: async () => readSettings(await engine.ask(one(STATEMENTS.listSettings))),
  async setSetting(setting) {
    requireKeys(setting)
    requireStorableText(setting.text, 'a setting')
    return engine.transact(() => putSetting(setting, setting.text))
  },
  async unsetSetting(setting) {
    requireKeys(setting)
    return engine.transact(() => putSetting(setting, undefined))
  },
})

function requireKeys({ section, key }: SettingChange): void {
  requireKey(section, 'a section')
  requireKey(key, 'an option')
}

/** A removed setting keeps its row, without a value, so that other nodes see the removal. */
function* putSetting(change: SettingChange, text: string | undefined): Operation<WriteOutcome> {
  const { section, key, nowSeconds, unchangedSince } = change
  const counters = yield* lockCounters()
  if (unchangedSince !== undefined) {
    const [row] = yield one(STATEMENTS.findSectionSequence, section)
    const current = numberOf(row, 'sequence')
    if (current > unchangedSince) return { kind: 'conflict', current }
  }
  const sequence = counters.sequence + 1
  yield one(STATEMENTS.putSetting, section, key, text ?? null, nowSeconds, sequence)
  yield* writeCounters({ ...counters, sequence })
  return { kind: 'written', sequence }
}

/** There is always a first row: without settings it holds only the sequence. */
const readSettings = (rows: readonly Row[]): SettingList => ({
  settings: rows.filter((row) => row['section'] !== null).map(readSetting),
  sequence: numberOf(rows[0], 'complete_to'),
})

export const readSetting = (row: Row): Setting => ({
  section: textOf(row, 'section'),
  key: textOf(row, 'key'),
  text: row['value'] === null ? undefined : textOf(row, 'value'),
  changedAt: numberOf(row, 'changed_at'),
  sequence: numberOf(row, 'sequence'),
})
