import type { Migration } from './migration.ts'

const INDEX = 'CREATE INDEX cardea_ended_sessions_name ON cardea_ended_sessions (name)'

/** How many sessions of a user have ended is counted whenever one more ends. */
export const ENDED_SESSION_NAMES: Migration = {
  number: 4,
  name: 'names of ended sessions',
  sqlite: INDEX,
  postgres: INDEX,
}
