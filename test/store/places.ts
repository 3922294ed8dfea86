import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import type { StorePlace } from '../contract/store.ts'
import type { Scope } from '../support/scope.ts'
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

/** Makes a migrated store as it was when it was new. Fails if a test has left a transaction open. */
const EMPTY = `SET lock_timeout = '2s';
  DO $$ DECLARE each text; BEGIN
    FOR each IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'cardea_migrations'
    LOOP EXECUTE format('DELETE FROM %I', each); END LOOP;
  END $$;
  DELETE FROM cardea_migrations WHERE number > ${MIGRATIONS.length};
  ${MIGRATIONS.flatMap(({ postgres }) => postgres.match(/INSERT INTO [^;]+;/g) ?? []).join('\n')}`

/**
 * For tests that change no schema: they use places one after the other, as a new one with its tables takes 0.08 s. Each
 * place keeps the connection that empties it.
 */
export function createReusedPlaces(scope: Scope, server: Postgres): () => Promise<StorePlace> {
  const free: StorePlace[] = []
  const create = async () => {
    const place = await createPostgresPlace(server)
    const client = new Client({ connectionString: place.url })
    client.on('error', () => {}) // a test of the file kills the server
    await client.connect()
    scope.after(() => client.end())
    const reused: StorePlace = {
      ...place,
      async remove() {
        await client.query(EMPTY)
        free.push(reused)
      },
    }
    return reused
  }
  return async () => free.pop() ?? create()
}
