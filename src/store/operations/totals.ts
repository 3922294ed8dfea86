import type { Counts, Totals, TotalsStore } from '../../observe/record-totals.ts'
import { type Engine, many, numberOf, one, purgeRows, type Row, textOf } from '../engine.ts'
import { requireKey } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'

export const createTotalsStore = (engine: Engine): TotalsStore => ({
  async putTotals(totals) {
    for (const { instance } of totals) requireKey(instance, 'an instance')
    if (totals.length === 0) return
    await engine.transact(function* () {
      yield many(STATEMENTS.putTotals, totals.map(toRow))
    })
  },
  async listTotals(step, from) {
    const rows = await engine.ask(one(STATEMENTS.listTotals, step, from))
    return rows.map((row) => readTotals(row, step)).reverse()
  },
  purgeTotals: (step, before) => purgeRows(engine, one(STATEMENTS.purgeTotals, step, before)),
})

const toRow = ({ step, at, instance, counts }: Totals) => [step, at, instance, JSON.stringify(counts)]

export const readTotals = (row: Row, step: Totals['step']): Totals => ({
  step,
  at: numberOf(row, 'at'),
  instance: textOf(row, 'instance'),
  // only putTotals writes this column
  counts: JSON.parse(textOf(row, 'counts')) as Counts,
})
