import type { Migration } from './migration.ts'

/** The time step of the last one-time code each user signed in with. Codes of that step and earlier ones are used up. */
export const USED_CODES: Migration = {
  number: 2,
  name: 'used one-time codes',
  sqlite: `
    CREATE TABLE cardea_used_codes (
      name TEXT NOT NULL PRIMARY KEY,
      step INTEGER NOT NULL
    ) STRICT;`,
  postgres: `
    CREATE TABLE cardea_used_codes (
      name text COLLATE "C" NOT NULL PRIMARY KEY,
      step bigint NOT NULL
    );`,
}
