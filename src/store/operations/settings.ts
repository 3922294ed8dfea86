import type { Setting, SettingChange, SettingList, WriteOutcome } from '../../directory/store-port.ts'
import { numberOf, textOf } from '../rows.ts'
import { STATEMENTS } from '../statements.ts'
import { type Operation, one, type Row } from '../steps.ts'
import { lockState, moveState } from './state.ts'

/** A setting that goes leaves its row without a value: other nodes learn from it that it has gone. */
export function* putSetting(change: SettingChange, text: string | undefined): Operation<WriteOutcome> {
  const { section, key, nowSeconds, unchangedSince } = change
  const state = yield* lockState()
  if (unchangedSince !== undefined) {
    const [row] = yield one(STATEMENTS.findSectionSequence, section)
    const current = numberOf(row, 'sequence')
    if (current > unchangedSince) return { kind: 'conflict', current }
  }
  const sequence = state.sequence + 1
  yield one(STATEMENTS.putSetting, section, key, text ?? null, nowSeconds, sequence)
  yield* moveState({ ...state, sequence })
  return { kind: 'written', sequence }
}

/** Without settings there is one row all the same, which holds the sequence alone. */
export const readSettings = (rows: readonly Row[]): SettingList => ({
  settings: rows.filter((row) => row['section'] !== null).map(readSetting),
  sequence: numberOf(rows[0], 'complete_to'),
})

const readSetting = (row: Row): Setting => ({
  section: textOf(row, 'section'),
  key: textOf(row, 'key'),
  text: row['value'] === null ? undefined : textOf(row, 'value'),
  changedAt: numberOf(row, 'changed_at'),
  sequence: numberOf(row, 'sequence'),
})
