import type { Log } from '../base/log.ts'
import { IncompatibleStoreError } from './engine.ts'

/** One change of the schema. A released migration is never edited; a further change gets the next number. */
export interface Migration {
  readonly number: number
  readonly name: string
  readonly sqlite: string
  readonly postgres: string
}

/**
 * A migration as PostgreSQL reads it. For SQLite only the types of columns and the options of tables differ. Collation
 * "C" orders by bytes, as SQLite does, in every locale. Released texts never change: a test compares their SHA-256.
 */
const forBoth = (number: number, name: string, postgres: string, options = 'STRICT'): Migration => ({
  number,
  name,
  postgres,
  sqlite: postgres
    .replaceAll(' COLLATE "C"', '')
    .replaceAll(/\btext\b/g, 'TEXT')
    .replaceAll(/\b(?:bigint|smallint|integer)\b/g, 'INTEGER')
    .replaceAll(/^ {4}\);/gm, `    ) ${options};`),
})

/** The table of applied migrations. It is the same in every version, so that every version can read it. */
export const MIGRATION_TABLE = `CREATE TABLE cardea_migrations (
  number integer NOT NULL PRIMARY KEY,
  name text NOT NULL
)`

/** The migrations still to be applied, in order. Throws if a newer version of Cardea has migrated the store. */
export function pendingMigrations(applied: number, known: readonly Migration[]): readonly Migration[] {
  const newest = known.at(-1)?.number ?? 0
  if (applied <= newest) return known.filter(({ number }) => number > applied)
  throw new IncompatibleStoreError(
    `The store has schema ${applied}, written by a newer Cardea; this one knows schema ${newest}. Start the newer version, or a copy of the store made before the upgrade.`,
  )
}

/** One line for all of them: a new store has many. */
export function logMigrations(applied: readonly Migration[], log: Log): void {
  const [first, last] = [applied[0], applied.at(-1)]
  if (first && last) log.info('store migrated', { from: first.number - 1, to: last.number })
}

/**
 * The cost of verifying each user's password, so that the highest is found without reading every record. Empty for
 * tombstones and for passwords without iterations. PostgreSQL rejects JSON with U+0000 in any member, so escapes are
 * removed first: names of PRFs and numbers contain none.
 */
export const HASH_WORK: Migration = {
  number: 3,
  name: 'cost of passwords',
  sqlite: `
    ALTER TABLE cardea_users ADD COLUMN prf TEXT;
    ALTER TABLE cardea_users ADD COLUMN iterations INTEGER;
    UPDATE cardea_users SET
      prf = json_extract(record, '$.password.prf'),
      iterations = json_extract(record, '$.password.iterations')
      WHERE is_live = 1;
    CREATE INDEX cardea_users_hash_work ON cardea_users (prf, iterations) WHERE prf IS NOT NULL;`,
  postgres: `
    ALTER TABLE cardea_users ADD COLUMN prf text COLLATE "C", ADD COLUMN iterations bigint;
    UPDATE cardea_users SET prf = work.prf, iterations = work.iterations
      FROM (
        SELECT name, content -> 'password' ->> 'prf' AS prf, (content -> 'password' ->> 'iterations')::bigint AS iterations
        FROM (
          SELECT name, replace(replace(record, '\\\\', ''), '\\u', '')::json AS content FROM cardea_users WHERE is_live = 1
        ) AS readable
      ) AS work
      WHERE cardea_users.name = work.name;
    CREATE INDEX cardea_users_hash_work ON cardea_users (prf, iterations) WHERE prf IS NOT NULL;`,
}

/** The first schema that knows the time of the store. */
export const TIME_SCHEMA = 22

/** Ordered by number, without a gap. */
export const MIGRATIONS: readonly Migration[] = [
  // Sequences are unique over all tables: the only row of `cardea_state` holds the last one. A tombstone is a row of
  // `cardea_users` that is not live; a row of `cardea_settings` without a value is a deleted setting.
  forBoth(
    1,
    'directory',
    `
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
  ),
  // The time step of each user's last one-time code. Codes of that step and of earlier ones are rejected.
  forBoth(
    2,
    'used one-time codes',
    `
    CREATE TABLE cardea_used_codes (
      name text COLLATE "C" NOT NULL PRIMARY KEY,
      step bigint NOT NULL
    );`,
  ),
  HASH_WORK,
  // Each ended session counts the ended sessions of the same user.
  forBoth(4, 'names of ended sessions', 'CREATE INDEX cardea_ended_sessions_name ON cardea_ended_sessions (name)'),
  // Failed password checks that the nodes share. They have a sequence of their own: a failed sign-in is not a change of
  // the directory and must not appear in its feeds.
  forBoth(
    5,
    'failures',
    `
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
  ),
  // Sessions for lists, newest first. A row says nothing about whether its session is live.
  forBoth(
    6,
    'sessions',
    `
    CREATE TABLE cardea_sessions (
      id text COLLATE "C" NOT NULL PRIMARY KEY,
      name text COLLATE "C" NOT NULL,
      generation bigint,
      door text NOT NULL,
      created_at bigint NOT NULL,
      seen_at bigint NOT NULL,
      expires_at bigint NOT NULL,
      peer text NOT NULL,
      user_agent text NOT NULL
    );
    CREATE INDEX cardea_sessions_name ON cardea_sessions (name, created_at, id);
    CREATE INDEX cardea_sessions_created ON cardea_sessions (created_at, id);
    CREATE INDEX cardea_sessions_expiry ON cardea_sessions (expires_at);`,
  ),
  // The last use of each access token, beside the user's record: a use is no change of the user.
  forBoth(
    7,
    'uses of access tokens',
    `
    CREATE TABLE cardea_token_uses (
      mark text COLLATE "C" NOT NULL PRIMARY KEY,
      name text COLLATE "C" NOT NULL,
      used_at bigint NOT NULL
    );
    CREATE INDEX cardea_token_uses_name ON cardea_token_uses (name);
    CREATE INDEX cardea_token_uses_time ON cardea_token_uses (used_at);`,
  ),
  // The last sign-in of each account, for the administrator. It is no change of the directory.
  forBoth(
    8,
    'last sign-ins',
    `
    CREATE TABLE cardea_sign_ins (
      name text COLLATE "C" NOT NULL PRIMARY KEY,
      signed_in_at bigint NOT NULL,
      peer text NOT NULL
    );`,
  ),
  // What happened at each node, for charts: totals of a minute and of an hour. Each start of a process is an instance,
  // the only writer of its rows.
  forBoth(
    9,
    'totals and nodes',
    `
    CREATE TABLE cardea_totals (
      step integer NOT NULL,
      at bigint NOT NULL,
      instance text COLLATE "C" NOT NULL,
      counts text NOT NULL,
      PRIMARY KEY (step, at, instance)
    );
    CREATE TABLE cardea_nodes (
      instance text COLLATE "C" NOT NULL PRIMARY KEY,
      name text COLLATE "C" NOT NULL,
      seen_at bigint NOT NULL,
      state text NOT NULL
    );`,
  ),
  // Secrets that users get once. The store keeps only their digests.
  forBoth(
    10,
    'recovery codes and password links',
    `
    CREATE TABLE cardea_recovery_codes (
      name text COLLATE "C" NOT NULL,
      mark text COLLATE "C" NOT NULL,
      digest text COLLATE "C" NOT NULL,
      PRIMARY KEY (name, digest)
    );
    CREATE TABLE cardea_password_links (
      name text COLLATE "C" NOT NULL PRIMARY KEY,
      digest text COLLATE "C" NOT NULL UNIQUE,
      version text NOT NULL,
      expires_at bigint NOT NULL
    );
    CREATE INDEX cardea_password_links_expiry ON cardea_password_links (expires_at);`,
  ),
  // The audit trail. The names of the actor and the subject have columns of their own, because lists are filtered by
  // them. `cardea_audit_chains` holds the end of each node's chain.
  forBoth(
    11,
    'audit trail',
    `
    CREATE TABLE cardea_audit (
      node text COLLATE "C" NOT NULL,
      sequence bigint NOT NULL,
      time_ms bigint NOT NULL,
      event text COLLATE "C" NOT NULL,
      outcome text NOT NULL,
      actor text COLLATE "C",
      subject text COLLATE "C",
      fields text NOT NULL,
      salts text NOT NULL,
      erased text NOT NULL,
      previous text NOT NULL,
      hash text NOT NULL,
      PRIMARY KEY (node, sequence)
    );
    CREATE INDEX cardea_audit_time ON cardea_audit (time_ms, node, sequence);
    CREATE INDEX cardea_audit_event ON cardea_audit (event, time_ms, node, sequence);
    CREATE INDEX cardea_audit_actor ON cardea_audit (actor, time_ms, node, sequence) WHERE actor IS NOT NULL;
    CREATE INDEX cardea_audit_subject ON cardea_audit (subject, time_ms, node, sequence) WHERE subject IS NOT NULL;
    CREATE TABLE cardea_audit_chains (
      node text COLLATE "C" NOT NULL PRIMARY KEY,
      sequence bigint NOT NULL,
      hash text NOT NULL,
      purged_sequence bigint NOT NULL,
      purged_hash text NOT NULL,
      checkpoint text,
      written_ms bigint NOT NULL
    );`,
  ),
  // Entries by which users are searched. All users up to the sequence `searched` have theirs. Users that an earlier
  // version writes get them at the next search, not here: the keys ignore case, which the two databases do in different
  // ways.
  forBoth(
    12,
    'search for users',
    `
    CREATE TABLE cardea_user_entries (
      kind text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      PRIMARY KEY (kind, key, name)
    );
    CREATE INDEX cardea_user_entries_name ON cardea_user_entries (name);
    ALTER TABLE cardea_state ADD COLUMN searched bigint NOT NULL DEFAULT 0;`,
    'STRICT, WITHOUT ROWID',
  ),
  // Parts of names became entries: the next search adds them.
  forBoth(13, 'search for parts of names', 'UPDATE cardea_state SET searched = 0'),
  // Sessions are searched by address and client. A session of before gets its client with its next use.
  forBoth(
    14,
    'search for sessions',
    `
    ALTER TABLE cardea_sessions ADD COLUMN client text COLLATE "C" NOT NULL DEFAULT '';
    CREATE INDEX cardea_sessions_peer ON cardea_sessions (peer COLLATE "C", created_at, id);
    CREATE INDEX cardea_sessions_client ON cardea_sessions (client, created_at, id);`,
  ),
  // The digests of a session's renewal token and of the one before it. Empty: the session has none.
  forBoth(
    15,
    'renewal tokens',
    `
    ALTER TABLE cardea_sessions ADD COLUMN renewal text COLLATE "C" NOT NULL DEFAULT '';
    ALTER TABLE cardea_sessions ADD COLUMN renewed_from text COLLATE "C" NOT NULL DEFAULT '';
    ALTER TABLE cardea_sessions ADD COLUMN renewed_at bigint NOT NULL DEFAULT 0;`,
  ),
  // Databases with grants became entries, as parts of names did.
  forBoth(16, 'search for grants', 'UPDATE cardea_state SET searched = 0'),
  // And the roles of users without a second factor.
  forBoth(17, 'search for missing second factors', 'UPDATE cardea_state SET searched = 0'),
  // And the roles that identity providers gave.
  forBoth(18, 'search for roles of identity providers', 'UPDATE cardea_state SET searched = 0'),
  // Users are searched by their last sign-in. One who never signed in has a row with the time 0.
  forBoth(
    19,
    'search for users without a sign-in',
    `
    CREATE INDEX cardea_sign_ins_time ON cardea_sign_ins (signed_in_at, name);
    INSERT INTO cardea_sign_ins (name, signed_in_at, peer)
      SELECT name, 0, '' FROM cardea_users WHERE is_live = 1 ON CONFLICT DO NOTHING;`,
  ),
  // Entries of roles that identity providers gave name these.
  forBoth(20, 'count roles of identity providers', 'UPDATE cardea_state SET searched = 0'),
  // The time step of each one-time code that was used. Nodes of earlier versions go on with `cardea_used_codes`.
  forBoth(
    21,
    'each used one-time code',
    `
    CREATE TABLE cardea_spent_codes (
      name text COLLATE "C" NOT NULL,
      mark text COLLATE "C" NOT NULL,
      step bigint NOT NULL,
      PRIMARY KEY (name, mark, step)
    );
    CREATE INDEX cardea_spent_codes_step ON cardea_spent_codes (step);`,
  ),
  // How far the time of the store has come: at first, when the audit trail was written last.
  forBoth(
    TIME_SCHEMA,
    'time of the store',
    `
    CREATE TABLE cardea_time (
      id smallint PRIMARY KEY CHECK (id = 1),
      lived_ms bigint NOT NULL,
      agreed_ms bigint NOT NULL
    );
    INSERT INTO cardea_time (id, lived_ms, agreed_ms)
      SELECT 1, coalesce(max(written_ms), 0), 0 FROM cardea_audit_chains;`,
  ),
  // By its marks the history of the store is recognised: each write leaves a random one with its last sequence. A setting
  // keeps the mark of its write, because the sessions of administrators depend on it.
  forBoth(
    23,
    'history',
    `
    CREATE TABLE cardea_marks (
      sequence bigint NOT NULL PRIMARY KEY,
      mark text COLLATE "C" NOT NULL UNIQUE
    );
    ALTER TABLE cardea_settings ADD COLUMN mark text NOT NULL DEFAULT '';`,
  ),
  // Names without case and compatibility forms became entries.
  forBoth(24, 'names that differ only in case', 'UPDATE cardea_state SET searched = 0'),
  // Work that follows a write, until it is done. A job that is claimed is due again when the claim ends.
  forBoth(
    25,
    'jobs',
    `
    CREATE TABLE cardea_jobs (
      id bigint NOT NULL PRIMARY KEY,
      kind text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      payload text NOT NULL,
      due_ms bigint NOT NULL,
      claim text NOT NULL DEFAULT '',
      attempts bigint NOT NULL DEFAULT 0,
      begun_ms bigint NOT NULL DEFAULT 0,
      problem text NOT NULL DEFAULT ''
    );
    CREATE INDEX cardea_jobs_due ON cardea_jobs (due_ms, id);
    CREATE INDEX cardea_jobs_key ON cardea_jobs (kind, key, id);`,
  ),
  // Links of several purposes take the place of those to set a password. Requests for messages are counted by digests of
  // the mailbox and of the client.
  forBoth(
    26,
    'links and requests for messages',
    `
    CREATE TABLE cardea_links (
      purpose text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      digest text COLLATE "C" NOT NULL UNIQUE,
      version text NOT NULL,
      data text NOT NULL,
      expires_at bigint NOT NULL,
      PRIMARY KEY (purpose, name)
    );
    CREATE INDEX cardea_links_expiry ON cardea_links (expires_at);
    CREATE INDEX cardea_links_name ON cardea_links (name);
    INSERT INTO cardea_links (purpose, name, digest, version, data, expires_at)
      SELECT 'password', name, digest, version, '', expires_at FROM cardea_password_links;
    CREATE TABLE cardea_mail_requests (
      key text COLLATE "C" NOT NULL PRIMARY KEY,
      requests bigint NOT NULL,
      until bigint NOT NULL
    );
    CREATE INDEX cardea_mail_requests_until ON cardea_mail_requests (until);`,
  ),
  // The databases of users: those that they have, and those that are not theirs.
  forBoth(
    27,
    'databases of users',
    `
    CREATE TABLE cardea_user_databases (
      name text COLLATE "C" NOT NULL,
      door text COLLATE "C" NOT NULL,
      database text NOT NULL,
      state text COLLATE "C" NOT NULL,
      reason text NOT NULL,
      PRIMARY KEY (name, door)
    );
    CREATE INDEX cardea_user_databases_state ON cardea_user_databases (state, name, door);`,
  ),
  // The signature counters of passkeys, by the key of each.
  forBoth(
    28,
    'counters of passkeys',
    `
    CREATE TABLE cardea_passkey_counters (
      passkey text COLLATE "C" NOT NULL PRIMARY KEY,
      counter bigint NOT NULL
    );`,
  ),
  // Users whose home is a CouchDB: how far its feed is followed and by whom, and the documents that are not users here.
  forBoth(
    29,
    'users in CouchDB',
    `
    CREATE TABLE cardea_mirror (
      id bigint NOT NULL PRIMARY KEY,
      holder text NOT NULL,
      until_ms bigint NOT NULL,
      fresh_ms bigint NOT NULL,
      data text NOT NULL
    );
    CREATE TABLE cardea_mirror_refused (
      document text COLLATE "C" NOT NULL PRIMARY KEY,
      kind text COLLATE "C" NOT NULL,
      reason text NOT NULL
    );
    CREATE INDEX cardea_mirror_refused_kind ON cardea_mirror_refused (kind, document);`,
  ),
  // Databases of users take the place of those with one for each user and door: a user keeps the one that it had before
  // user-databases.prefix was changed.
  forBoth(
    30,
    'several databases of a user',
    `
    CREATE TABLE cardea_own_databases (
      name text COLLATE "C" NOT NULL,
      door text COLLATE "C" NOT NULL,
      database text COLLATE "C" NOT NULL,
      state text COLLATE "C" NOT NULL,
      reason text NOT NULL,
      PRIMARY KEY (name, door, database)
    );
    CREATE INDEX cardea_own_databases_state ON cardea_own_databases (state, name, door, database);
    INSERT INTO cardea_own_databases (name, door, database, state, reason)
      SELECT name, door, database, state, reason FROM cardea_user_databases;`,
  ),
  // What only Cardea knows of users that are being written to a CouchDB, by digests of their documents.
  forBoth(
    31,
    'intended changes of users in CouchDB',
    `
    CREATE TABLE cardea_mirror_intents (
      name text COLLATE "C" NOT NULL,
      digest text COLLATE "C" NOT NULL,
      data text NOT NULL,
      noted_ms bigint NOT NULL,
      PRIMARY KEY (name, digest)
    );`,
  ),
]

/** The schema of this version. */
export const NEWEST_SCHEMA = MIGRATIONS.length
