import type { Migration } from './migration.ts'

/**
 * Failed password checks that nodes tell each other. They have a sequence of their own: a failed sign-in is no change
 * of the directory, and its feeds must not move.
 */
export const FAILURES: Migration = {
  number: 5,
  name: 'failures',
  sqlite: `
    CREATE TABLE cardea_failure_state (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      sequence INTEGER NOT NULL
    ) STRICT;
    INSERT INTO cardea_failure_state (id, sequence) VALUES (1, 0);
    CREATE TABLE cardea_failures (
      sequence INTEGER NOT NULL PRIMARY KEY,
      node TEXT NOT NULL,
      at_ms INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      failures TEXT NOT NULL
    ) STRICT;
    CREATE INDEX cardea_failures_expiry ON cardea_failures (expires_at);`,
  postgres: `
    CREATE TABLE cardea_failure_state (
      id smallint PRIMARY KEY CHECK (id = 1),
      sequence bigint NOT NULL
    );
    INSERT INTO cardea_failure_state (id, sequence) VALUES (1, 0);
    CREATE TABLE cardea_failures (
      sequence bigint NOT NULL PRIMARY KEY,
      node text NOT NULL,
      at_ms bigint NOT NULL,
      expires_at bigint NOT NULL,
      failures text NOT NULL
    );
    CREATE INDEX cardea_failures_expiry ON cardea_failures (expires_at);`,
}
