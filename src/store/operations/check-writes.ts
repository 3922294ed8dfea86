import { randomUUID } from 'node:crypto'
import type { WriteCheck } from '../../directory/store-port/store.ts'
import { type Engine, type Operation, one, type Statement } from '../engine.ts'
import { MIGRATIONS } from '../migrations.ts'
import { STATEMENTS } from '../statements.ts'

/** Every table of the schema. */
const TABLES = MIGRATIONS.flatMap(({ postgres }) => postgres.match(/(?<=CREATE TABLE )\w+/g) ?? [])

/** Reads no row, but fails if a table is missing or must not be read. */
const FIND_TABLES: Statement = {
  name: 'findTables',
  text: `SELECT 1 FROM ${TABLES.join(', ')} WHERE 1 = 0`,
}

export const createWriteCheck = (engine: Engine): WriteCheck => ({
  checkWrites: () => engine.transact(() => tryToWrite(randomUUID())),
})

/** Reads every table, and writes a row that it removes again: SQLite does not write a page that stays the same. */
function* tryToWrite(id: string): Operation<void> {
  yield one(FIND_TABLES)
  yield one(STATEMENTS.putNode, id, id, 0, '{}')
  yield one(STATEMENTS.removeNode, id)
}
