import type { Migration } from './migration.ts'

/**
 * Sequences are unique over all tables: one row of `cardea_state` gives them out. A tombstone is a row of
 * `cardea_users` that is not live; a row of `cardea_settings` without a value is a deleted setting.
 */
export const DIRECTORY: Migration = {
  number: 1,
  name: 'directory',
  sqlite: `
    CREATE TABLE cardea_state (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      sequence INTEGER NOT NULL,
      users INTEGER NOT NULL
    ) STRICT;
    INSERT INTO cardea_state (id, sequence, users) VALUES (1, 0, 0);
    CREATE TABLE cardea_users (
      name TEXT NOT NULL PRIMARY KEY,
      sequence INTEGER NOT NULL UNIQUE,
      is_live INTEGER NOT NULL,
      record TEXT NOT NULL
    ) STRICT;
    CREATE INDEX cardea_live_users ON cardea_users (name) WHERE is_live = 1;
    CREATE TABLE cardea_ended_sessions (
      id TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      sequence INTEGER NOT NULL UNIQUE
    ) STRICT;
    CREATE INDEX cardea_ended_sessions_expiry ON cardea_ended_sessions (expires_at);
    CREATE TABLE cardea_settings (
      section TEXT NOT NULL,
      key TEXT NOT NULL,
      value TEXT,
      changed_at INTEGER NOT NULL,
      sequence INTEGER NOT NULL UNIQUE,
      PRIMARY KEY (section, key)
    ) STRICT;`,
  // collation "C" orders by bytes, as SQLite does, whatever the locale of the database
  postgres: `
    CREATE TABLE cardea_state (
      id smallint PRIMARY KEY CHECK (id = 1),
      sequence bigint NOT NULL,
      users bigint NOT NULL
    );
    INSERT INTO cardea_state (id, sequence, users) VALUES (1, 0, 0);
    CREATE TABLE cardea_users (
      name text COLLATE "C" NOT NULL PRIMARY KEY,
      sequence bigint NOT NULL UNIQUE,
      is_live smallint NOT NULL,
      record text NOT NULL
    );
    CREATE INDEX cardea_live_users ON cardea_users (name) WHERE is_live = 1;
    CREATE TABLE cardea_ended_sessions (
      id text COLLATE "C" NOT NULL PRIMARY KEY,
      name text NOT NULL,
      expires_at bigint NOT NULL,
      sequence bigint NOT NULL UNIQUE
    );
    CREATE INDEX cardea_ended_sessions_expiry ON cardea_ended_sessions (expires_at);
    CREATE TABLE cardea_settings (
      section text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      value text,
      changed_at bigint NOT NULL,
      sequence bigint NOT NULL UNIQUE,
      PRIMARY KEY (section, key)
    );`,
}
