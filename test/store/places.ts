import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { StorePlace } from '../contract/store.ts'
import type { Postgres } from './postgres-server.ts'

export const createFolder = (): string => mkdtempSync(join(tmpdir(), 'cardea-store-'))

/** A SQLite file in a new folder. */
export async function createSqlitePlace(): Promise<StorePlace> {
  const folder = createFolder()
  const path = join(folder, 'store.db')
  return {
    url: `sqlite:${path}`,
    async execute(sql) {
      const database = new DatabaseSync(path, { timeout: 5000 })
      try {
        return database.prepare(sql).all()
      } finally {
        database.close()
      }
    },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A new schema in a running server. */
export async function createPostgresPlace(server: Postgres): Promise<StorePlace> {
  const url = await server.createPlace()
  return { url, execute: (sql) => server.execute(url, sql), remove: async () => {} }
}
