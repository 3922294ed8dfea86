import type {
  Setting,
  SettingChange,
  SettingList,
  SettingOutcome,
  SettingStore,
} from '../../directory/store-port/settings.ts'
import { toFoldKey } from '../../directory/users/search-entries.ts'
import { type Engine, numberOf, one, type Row, type StoreSteps, textOf } from '../engine.ts'
import { requireKey, requireStorableText } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'
import { askWithMark, createMark, lockCounters, readHead, writeCounters } from './changes.ts'

export const createSettingStore = (engine: Engine): SettingStore => ({
  listSettings: async () => readSettings(await askWithMark(engine, one(STATEMENTS.listSettings))),
  async setSetting(setting) {
    requireStorable(setting, setting.text)
    return engine.transact(() => putSetting(setting, setting.text))
  },
  async unsetSetting(setting) {
    requireStorable(setting)
    return engine.transact(() => putSetting(setting, undefined))
  },
})

function requireStorable({ also = [], ...own }: SettingChange, ownText = ''): void {
  for (const { section, key, text = '' } of [{ ...own, text: ownText }, ...also]) {
    requireKey(section, 'a section')
    requireKey(key, 'an option')
    requireStorableText(text, 'a setting')
  }
}

/** A removed setting keeps its row, without a value, so that other nodes see the removal. */
function* putSetting(change: SettingChange, text: string | undefined): StoreSteps<SettingOutcome> {
  const { key, nowSeconds, unchangedSince, isDistinct = false } = change
  const counters = yield* lockCounters()
  const written = [...(change.also ?? []), { section: change.section, key, text }]
  const sections = unchangedSince === undefined ? [] : written.map(({ section }) => section)
  for (const section of sections) {
    const [row] = yield one(STATEMENTS.findSectionSequence, section)
    const [known] = yield one(STATEMENTS.findMark, unchangedSince?.mark ?? '')
    const current = numberOf(row, 'sequence')
    if (!known || current > (unchangedSince?.sequence ?? 0)) return { kind: 'conflict', current }
  }
  const twins = isDistinct ? yield one(STATEMENTS.findFold, toFoldKey(key)) : []
  if (twins.some((row) => textOf(row, 'name') !== key)) return { kind: 'look-alike' }
  let [sequence, mark] = [counters.sequence, '']
  for (const each of written) {
    ;[sequence, mark] = [sequence + 1, createMark()]
    yield one(STATEMENTS.putSetting, each.section, each.key, each.text ?? null, nowSeconds, sequence, mark)
  }
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
