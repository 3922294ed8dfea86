import type {
  Setting,
  SettingChange,
  SettingList,
  SettingOutcome,
  SettingStore,
} from '../../directory/store-port/settings.ts'
import { type Engine, numberOf, type Operation, one, type Row, textOf } from '../engine.ts'
import { requireKey, requireStorableText } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'
import { askWithMark, createMark, lockCounters, readHead, writeCounters } from './changes.ts'

export const createSettingStore = (engine: Engine): SettingStore => ({
  listSettings: async () => readSettings(await askWithMark(engine, one(STATEMENTS.listSettings))),
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
function* putSetting(change: SettingChange, text: string | undefined): Operation<SettingOutcome> {
  const { section, key, nowSeconds, unchangedSince } = change
  const counters = yield* lockCounters()
  if (unchangedSince !== undefined) {
    const [row] = yield one(STATEMENTS.findSectionSequence, section)
    const [known] = yield one(STATEMENTS.findMark, unchangedSince.mark)
    const current = numberOf(row, 'sequence')
    if (!known || current > unchangedSince.sequence) return { kind: 'conflict', current }
  }
  const [sequence, mark] = [counters.sequence + 1, createMark()]
  yield one(STATEMENTS.putSetting, section, key, text ?? null, nowSeconds, sequence, mark)
  return { kind: 'written', ...(yield* writeCounters({ ...counters, sequence }, mark)) }
}

/** There is always a first row: without settings it holds only the sequence. */
const readSettings = (rows: readonly Row[]): SettingList => ({
  settings: rows.filter((row) => row['section'] !== null).map(readSetting),
  position: readHead(rows),
})

export const readSetting = (row: Row): Setting => ({
  section: textOf(row, 'section'),
  key: textOf(row, 'key'),
  text: row['value'] === null ? undefined : textOf(row, 'value'),
  changedAt: numberOf(row, 'changed_at'),
  sequence: numberOf(row, 'sequence'),
  // a backup of an earlier version has none
  mark: row['mark'] === undefined ? '' : textOf(row, 'mark'),
})
