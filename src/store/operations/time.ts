import type { StoreTime, TimeStore } from '../../directory/store-port/time.ts'
import { type Engine, numberOf, one, type Row } from '../engine.ts'
import { STATEMENTS } from '../statements.ts'

export const createTimeStore = (engine: Engine): TimeStore => ({
  readTime: async () => readTime((await engine.ask(one(STATEMENTS.readTime)))[0]),
  keepTime: async ({ livedMs, agreedMs }) =>
    readTime((await engine.ask(one(STATEMENTS.keepTime, livedMs, agreedMs)))[0]),
})

export const readTime = (row: Row | undefined): StoreTime => ({
  livedMs: numberOf(row, 'lived_ms'),
  agreedMs: numberOf(row, 'agreed_ms'),
  clockMs: row?.['clock_ms'] === null ? undefined : numberOf(row, 'clock_ms'),
})
