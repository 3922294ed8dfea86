import { MAX_SESSION_RECORDS } from '../directory/store-port/sessions.ts'
import { MAX_COUNTED_USERS, SEARCH_ROWS } from '../directory/store-port/users.ts'
import { MAX_LISTED_TOTALS } from '../observe/record-totals.ts'
import type { Statement } from './engine.ts'

/** How many users get their search entries in one transaction. */
export const INDEXED_ROWS = 1000

const SESSION_COLUMNS = 'id, name, generation, door, created_at, seen_at, expires_at, peer, user_agent'

/** A range of the index of this column, from its end. The age is compared in the index too. */
const toSessionSearch = (column: 'name' | 'peer' | 'client') => `SELECT ${SESSION_COLUMNS} FROM cardea_sessions
    WHERE (${column}, created_at, id) < ($1, $2, $3) AND ${column} >= $4 AND created_at >= $5 AND created_at < $6
    ORDER BY ${column} DESC, created_at DESC, id DESC LIMIT $7`

export const AUDIT_COLUMNS =
  'node, sequence, time_ms, event, outcome, actor, subject, fields, salts, erased, previous, hash'
const AUDIT_CHAIN_COLUMNS = 'node, sequence, hash, purged_sequence, purged_hash, checkpoint, written_ms'

/** The first $4 keys from $2 to $3. Jumps from each to the next; `at` ends what SQLite would run to the last key. */
const KEYS_OF_RANGE = `WITH RECURSIVE keys (key, at) AS (
      SELECT min(key), 1 FROM cardea_user_entries WHERE kind = $1 AND key >= $2 AND key <= $3
      UNION ALL
      SELECT (SELECT min(key) FROM cardea_user_entries WHERE kind = $1 AND key > keys.key AND key <= $3), at + 1
      FROM keys WHERE keys.key IS NOT NULL AND at < $4
    )`

const TEXTS = {
  findUser: 'SELECT name, sequence, is_live, record FROM cardea_users WHERE name = $1',
  findUsers: `SELECT name, sequence, is_live, record FROM cardea_users
    WHERE name IN (SELECT value FROM json_each($1))`,
  findVersion: 'SELECT name, sequence, is_live FROM cardea_users WHERE name = $1',
  putUser: `INSERT INTO cardea_users (name, sequence, is_live, record, prf, iterations)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (name) DO UPDATE
    SET sequence = excluded.sequence, is_live = excluded.is_live, record = excluded.record,
      prf = excluded.prf, iterations = excluded.iterations`,

  // the page first, so that only its users are read
  searchUsers: `SELECT page.key, users.name, users.is_live, users.record FROM (
      SELECT key, name FROM cardea_user_entries WHERE kind = $1 AND (key, name) > ($2, $3) AND key <= $4
      ORDER BY key, name LIMIT ${SEARCH_ROWS}
    ) AS page JOIN cardea_users AS users ON users.name = page.name ORDER BY page.key, page.name`,
  // rows of administrators and deleted users have no record: they count, because a short page is the last one
  searchSignIns: `SELECT CAST(page.signed_in_at AS text) AS key, page.name, users.is_live, users.record FROM (
      SELECT signed_in_at, name FROM cardea_sign_ins WHERE (signed_in_at, name) > ($1, $2) AND signed_in_at <= $3
      ORDER BY signed_in_at, name LIMIT ${SEARCH_ROWS}
    ) AS page LEFT JOIN cardea_users AS users ON users.name = page.name AND users.is_live = 1
    ORDER BY page.signed_in_at, page.name`,
  findFold: `SELECT key, name FROM cardea_user_entries WHERE kind = 'fold' AND key = $1`,
  findClaim: `SELECT key, name FROM cardea_user_entries WHERE kind IN ('external', 'address') AND key = $1`,
  listKeys: `${KEYS_OF_RANGE} SELECT key FROM keys WHERE key IS NOT NULL ORDER BY key`,
  countUsersByKey: `${KEYS_OF_RANGE}
    SELECT key, (SELECT min(name) FROM cardea_user_entries WHERE kind = $1 AND key = keys.key) AS name,
      (SELECT count(*) FROM (SELECT 1 FROM cardea_user_entries WHERE kind = $1 AND key = keys.key
        LIMIT ${MAX_COUNTED_USERS}) AS counted) AS count
    FROM keys WHERE key IS NOT NULL ORDER BY key`,
  removeEntries: `DELETE FROM cardea_user_entries WHERE name = $1 AND kind <> 'external-once'`,
  removeChangingEntries: `DELETE FROM cardea_user_entries WHERE name = $1 AND kind NOT IN ('part', 'external-once')`,
  putEntry: 'INSERT INTO cardea_user_entries (kind, key, name) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
  readSearched: 'SELECT sequence, searched FROM cardea_state',
  listUnsearched: `SELECT name, sequence, is_live, record FROM cardea_users WHERE sequence > $1
    ORDER BY sequence LIMIT ${INDEXED_ROWS}`,
  writeSearched: 'UPDATE cardea_state SET searched = $1',
  // jumps from each PRF to the next in the index (there are five) instead of reading every user
  listHashWork: `WITH RECURSIVE prfs (prf) AS (
      SELECT min(prf) FROM cardea_users WHERE prf IS NOT NULL
      UNION ALL
      SELECT (SELECT min(prf) FROM cardea_users WHERE prf > prfs.prf) FROM prfs WHERE prfs.prf IS NOT NULL
    )
    SELECT prf, (SELECT max(iterations) FROM cardea_users WHERE prf = prfs.prf) AS iterations
    FROM prfs WHERE prf IS NOT NULL`,

  readCounters: 'SELECT sequence, users FROM cardea_state',
  lockCounters: 'SELECT sequence, users FROM cardea_state',
  writeCounters: `UPDATE cardea_state SET sequence = $1, users = $2,
    searched = CASE WHEN searched = sequence THEN $1 ELSE searched END`,

  listEnded: `SELECT id, name, expires_at, sequence FROM cardea_ended_sessions
    WHERE sequence > $1 ORDER BY sequence LIMIT $2`,
  putEnded: `INSERT INTO cardea_ended_sessions (id, name, expires_at, sequence) VALUES ($1, $2, $3, $4)
    ON CONFLICT (id) DO UPDATE SET sequence = excluded.sequence, expires_at =
      CASE WHEN excluded.expires_at > cardea_ended_sessions.expires_at
        THEN excluded.expires_at ELSE cardea_ended_sessions.expires_at END`,
  countEnded: 'SELECT count(*) AS count FROM cardea_ended_sessions WHERE name = $1',
  listEndedIds: 'SELECT id FROM cardea_ended_sessions WHERE name = $1',
  forgetEnded: 'DELETE FROM cardea_ended_sessions WHERE name = $1 AND sequence <= $2 RETURNING id',
  // compares twice: a row whose expiry was extended after the inner query must stay
  purgeEnded: `DELETE FROM cardea_ended_sessions WHERE expires_at <= $1 AND id IN
    (SELECT id FROM cardea_ended_sessions WHERE expires_at <= $1 LIMIT 1000) RETURNING id`,

  putSession: `INSERT INTO cardea_sessions (${SESSION_COLUMNS}, client) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, peer = excluded.peer, user_agent = excluded.user_agent,
      client = excluded.client,
      expires_at = CASE WHEN excluded.expires_at > cardea_sessions.expires_at
        THEN excluded.expires_at ELSE cardea_sessions.expires_at END
    WHERE excluded.seen_at >= cardea_sessions.seen_at`,
  findSession: `SELECT ${SESSION_COLUMNS} FROM cardea_sessions WHERE id = $1`,
  listSessions: `SELECT ${SESSION_COLUMNS} FROM cardea_sessions
    WHERE (created_at, id) < ($1, $2) AND created_at >= $3 ORDER BY created_at DESC, id DESC LIMIT $4`,
  searchSessionsByName: toSessionSearch('name'),
  searchSessionsByPeer: toSessionSearch('peer'),
  searchSessionsByClient: toSessionSearch('client'),
  listSessionsOf: `SELECT ${SESSION_COLUMNS} FROM cardea_sessions
    WHERE name = $1 AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4`,
  // at most 1000 at a time: SQLite blocks the process meanwhile, and the next write removes more
  trimSessions: `DELETE FROM cardea_sessions WHERE id IN (SELECT id FROM cardea_sessions WHERE name = $1
    ORDER BY created_at DESC, id DESC LIMIT 1000 OFFSET ${MAX_SESSION_RECORDS}) RETURNING id`,
  removeSession: 'DELETE FROM cardea_sessions WHERE id = $1 RETURNING id',
  purgeSessions: `DELETE FROM cardea_sessions WHERE expires_at <= $1 AND id IN
    (SELECT id FROM cardea_sessions WHERE expires_at <= $1 LIMIT 1000) RETURNING id`,

  findRenewal: `SELECT id, name, generation, created_at, renewal, renewed_from, renewed_at
    FROM cardea_sessions WHERE id = $1 AND renewal <> '' AND generation IS NOT NULL`,
  // returns no row, and writes nothing, if another request has renewed the session
  renewSession: `UPDATE cardea_sessions SET renewal = $3, renewed_from = $2, renewed_at = $4, expires_at = $5
    WHERE id = $1 AND renewal = $2 RETURNING id`,

  putTokenUse: `INSERT INTO cardea_token_uses (mark, name, used_at) VALUES ($1, $2, $3)
    ON CONFLICT (mark) DO UPDATE SET used_at = excluded.used_at WHERE excluded.used_at > cardea_token_uses.used_at`,
  listTokenUses: 'SELECT mark, name, used_at FROM cardea_token_uses WHERE name = $1 ORDER BY mark',
  purgeTokenUses: `DELETE FROM cardea_token_uses WHERE used_at <= $1 AND mark IN
    (SELECT mark FROM cardea_token_uses WHERE used_at <= $1 LIMIT 1000) RETURNING mark`,

  // Returns no row, and writes nothing, if the step was used. Earlier versions keep only the newest step of each name: the
  // two before it may have been used, and their codes may still be valid.
  useCodeStep: `INSERT INTO cardea_spent_codes (name, mark, step)
    SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS bigint) WHERE NOT EXISTS
      (SELECT 1 FROM cardea_used_codes WHERE name = $1 AND step BETWEEN CAST($3 AS bigint) AND CAST($3 AS bigint) + 2)
    ON CONFLICT (name, mark, step) DO NOTHING RETURNING step`,
  removeCodeSteps: 'DELETE FROM cardea_spent_codes WHERE name = $1 RETURNING step',
  removeOtherCodeSteps: 'DELETE FROM cardea_spent_codes WHERE name = $1 AND mark <> $2 RETURNING step',
  removeEarlierCodeStep: 'DELETE FROM cardea_used_codes WHERE name = $1 RETURNING step',
  purgeCodeSteps: 'DELETE FROM cardea_spent_codes WHERE step < $1 RETURNING step',

  putRecoveryCode: 'INSERT INTO cardea_recovery_codes (name, mark, digest) VALUES ($1, $2, $3)',
  useRecoveryCode: 'DELETE FROM cardea_recovery_codes WHERE name = $1 AND mark = $2 AND digest = $3 RETURNING digest',
  countRecoveryCodes: 'SELECT count(*) AS count FROM cardea_recovery_codes WHERE name = $1 AND mark = $2',
  removeRecoveryCodes: 'DELETE FROM cardea_recovery_codes WHERE name = $1 RETURNING digest',

  putSignIn: `INSERT INTO cardea_sign_ins (name, signed_in_at, peer) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET signed_in_at = excluded.signed_in_at, peer = excluded.peer
    WHERE excluded.signed_in_at >= cardea_sign_ins.signed_in_at`,
  listSignIns: `SELECT name, signed_in_at, peer FROM cardea_sign_ins
    WHERE name IN (SELECT value FROM json_each($1)) AND signed_in_at > 0`,
  removeSignIn: 'DELETE FROM cardea_sign_ins WHERE name = $1 RETURNING name',

  lockFailureSequence: 'SELECT sequence FROM cardea_failure_state',
  writeFailureSequence: 'UPDATE cardea_failure_state SET sequence = $1',
  putFailures: `INSERT INTO cardea_failures (sequence, node, at_ms, expires_at, failures) VALUES ($1, $2, $3, $4, $5)`,
  listFailures: `SELECT sequence, node, at_ms, expires_at, failures FROM cardea_failures
    WHERE sequence > $1 ORDER BY sequence LIMIT $2`,
  purgeFailures: `DELETE FROM cardea_failures WHERE sequence IN
    (SELECT sequence FROM cardea_failures WHERE expires_at <= $1 LIMIT 1000) RETURNING sequence`,

  putTotals: `INSERT INTO cardea_totals (step, at, instance, counts) VALUES ($1, $2, $3, $4)
    ON CONFLICT (step, at, instance) DO UPDATE SET counts = excluded.counts`,
  listTotals: `SELECT at, instance, counts FROM cardea_totals WHERE step = $1 AND at >= $2
    ORDER BY at DESC, instance LIMIT ${MAX_LISTED_TOTALS}`,
  purgeTotals: `DELETE FROM cardea_totals WHERE step = $1 AND at < $2 AND (at, instance) IN
    (SELECT at, instance FROM cardea_totals WHERE step = $1 AND at < $2 LIMIT 1000) RETURNING at`,

  putNode: `INSERT INTO cardea_nodes (instance, name, seen_at, state) VALUES ($1, $2, $3, $4)
    ON CONFLICT (instance) DO UPDATE SET name = excluded.name, seen_at = excluded.seen_at, state = excluded.state`,
  // a node that was started again replaces its earlier self
  removeLostNodes: `DELETE FROM cardea_nodes WHERE instance <> $1 AND ((name = $2 AND seen_at < $3) OR seen_at < $4)
    RETURNING instance`,
  removeNode: 'DELETE FROM cardea_nodes WHERE instance = $1 RETURNING instance',
  listNodes: 'SELECT instance, name, seen_at, state FROM cardea_nodes ORDER BY name, instance LIMIT 1000',

  findLastJob: 'SELECT id FROM cardea_jobs ORDER BY id DESC LIMIT 1',
  putJob: `INSERT INTO cardea_jobs (id, kind, key, payload, due_ms) VALUES ($1, $2, $3, $4, $5)`,
  findJob: 'SELECT id FROM cardea_jobs WHERE kind = $1 AND key = $2 LIMIT 1',
  findNextJob: 'SELECT due_ms FROM cardea_jobs ORDER BY due_ms LIMIT 1',
  // A claim is the time from which on others may claim the job. It is compared twice: another node may have claimed the
  // job after the inner query.
  claimJobs: `UPDATE cardea_jobs SET claim = $2, due_ms = $4, attempts = attempts + 1,
      begun_ms = CASE WHEN begun_ms = 0 THEN $3 ELSE begun_ms END
    WHERE (due_ms <= $3 OR due_ms > $6) AND id IN (SELECT job.id FROM cardea_jobs job
      WHERE job.kind = $1 AND (job.due_ms <= $3 OR job.due_ms > $6)
      AND NOT EXISTS (SELECT 1 FROM cardea_jobs earlier
        WHERE earlier.kind = job.kind AND earlier.key = job.key AND earlier.id < job.id)
      ORDER BY job.due_ms, job.id LIMIT $5)
    RETURNING id, kind, key, payload, attempts, begun_ms`,
  finishJob: 'DELETE FROM cardea_jobs WHERE id = $1 AND claim = $2 RETURNING id',
  postponeJob: `UPDATE cardea_jobs SET claim = '', due_ms = $3, problem = $4 WHERE id = $1 AND claim = $2 RETURNING id`,
  releaseJobs: `UPDATE cardea_jobs SET claim = '', due_ms = 0 WHERE claim <> '' AND substr(claim, 1, length($1)) = $1
    RETURNING id`,
  countJobs: `SELECT kind, count(*) AS count, count(CASE WHEN problem <> '' THEN 1 END) AS failed,
      coalesce(min(CASE WHEN problem <> '' THEN begun_ms END), 0) AS failed_since_ms, max(problem) AS problem
    FROM cardea_jobs GROUP BY kind ORDER BY kind`,

  openAuditChain: `INSERT INTO cardea_audit_chains (node, sequence, hash, purged_sequence, purged_hash, written_ms)
    VALUES ($1, 0, '', 0, '', $2) ON CONFLICT (node) DO NOTHING`,
  lockAuditChain: `SELECT ${AUDIT_CHAIN_COLUMNS} FROM cardea_audit_chains WHERE node = $1`,
  findAuditChain: `SELECT ${AUDIT_CHAIN_COLUMNS} FROM cardea_audit_chains WHERE node = $1`,
  endAuditChain: `UPDATE cardea_audit_chains SET sequence = $2, hash = $3, checkpoint = $4, written_ms = $5
    WHERE node = $1 RETURNING sequence`,
  markAuditPurged: `UPDATE cardea_audit_chains SET purged_sequence = $2, purged_hash = $3, checkpoint = $4
    WHERE node = $1`,
  putAudit: `INSERT INTO cardea_audit (${AUDIT_COLUMNS})
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
  countAudit: 'SELECT count(*) AS count FROM cardea_audit WHERE node = $1 AND sequence BETWEEN $2 AND $3',
  findFirstAudit: `SELECT sequence FROM cardea_audit WHERE node = $1 AND time_ms >= $2 ORDER BY sequence LIMIT 1`,
  purgeAudit: `DELETE FROM cardea_audit WHERE node = $1 AND sequence IN (SELECT sequence FROM cardea_audit
    WHERE node = $1 AND sequence < $2 ORDER BY sequence LIMIT 1000) RETURNING ${AUDIT_COLUMNS}`,
  findNextAudit: `SELECT ${AUDIT_COLUMNS} FROM cardea_audit WHERE node = $1 AND sequence > $2 ORDER BY sequence LIMIT 1`,
  findAuditHash: 'SELECT hash FROM cardea_audit WHERE node = $1 AND sequence = $2',
  listQuietAuditChains: `SELECT ${AUDIT_CHAIN_COLUMNS} FROM cardea_audit_chains
    WHERE written_ms < $1 ORDER BY node LIMIT 100`,
  markAuditOwned: 'UPDATE cardea_audit_chains SET written_ms = $2 WHERE node = $1 AND written_ms < $2',
  removeAuditChain: 'DELETE FROM cardea_audit_chains WHERE node = $1 AND written_ms < $2',
  eraseAudit: `UPDATE cardea_audit SET actor = $3, subject = $4, fields = $5, salts = $6, erased = $7
    WHERE node = $1 AND sequence = $2`,

  // the clock is that of this machine; PostgreSQL has its own
  readTime: 'SELECT lived_ms, agreed_ms, NULL AS clock_ms FROM cardea_time',
  // what a migration has written may be a wrong time, and counts only until a server has seen it
  keepTime: `UPDATE cardea_time SET
      lived_ms = CASE WHEN agreed_ms > 0 AND lived_ms > $1 THEN lived_ms ELSE $1 END,
      agreed_ms = CASE WHEN agreed_ms > $2 THEN agreed_ms ELSE $2 END
    RETURNING lived_ms, agreed_ms, NULL AS clock_ms`,

  // one statement, so that the list and its sequence are from the same moment
  listSettings: `SELECT setting.section, setting.key, setting.value, setting.changed_at, setting.sequence, setting.mark,
      state.sequence AS head, head.mark AS head_mark
    FROM cardea_state state LEFT JOIN cardea_marks head ON head.sequence = state.sequence
    LEFT JOIN cardea_settings setting ON setting.value IS NOT NULL OR setting.section = 'admins'
    ORDER BY setting.section, setting.key`,
  listAdministrators: `SELECT key AS name FROM cardea_settings WHERE section = 'admins' AND value IS NOT NULL`,
  findSectionSequence: `SELECT coalesce(max(sequence), 0) AS sequence FROM cardea_settings WHERE section = $1`,
  putSetting: `INSERT INTO cardea_settings (section, key, value, changed_at, sequence, mark)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (section, key) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at,
      sequence = excluded.sequence, mark = excluded.mark`,

  readHead: `SELECT state.sequence AS head, head.mark AS head_mark
    FROM cardea_state state LEFT JOIN cardea_marks head ON head.sequence = state.sequence`,
  findMark: 'SELECT sequence FROM cardea_marks WHERE mark = $1',
  putMark: `INSERT INTO cardea_marks (sequence, mark) VALUES ($1, $2)
    ON CONFLICT (sequence) DO UPDATE SET mark = excluded.mark`,
  purgeMarks: 'DELETE FROM cardea_marks WHERE sequence <= $1',
  // one statement, so that the changes and the history that they belong to are from the same moment
  changesSince: `SELECT changes.sequence, changes.kind, changes.key, changes.is_deleted,
      state.sequence AS head, head.mark AS head_mark,
      (SELECT sequence FROM cardea_marks WHERE mark = $3 AND sequence <= state.sequence) AS known_to,
      (SELECT sequence FROM cardea_marks WHERE mark = $4 AND sequence <= state.sequence) AS also_known_to
    FROM cardea_state state LEFT JOIN cardea_marks head ON head.sequence = state.sequence LEFT JOIN (
      SELECT * FROM (SELECT sequence, 'user' AS kind, name AS key, 1 - is_live AS is_deleted
        FROM cardea_users WHERE sequence > $1 ORDER BY sequence LIMIT $2) AS users
      UNION ALL
      SELECT * FROM (SELECT sequence, 'session' AS kind, id AS key, 1 AS is_deleted
        FROM cardea_ended_sessions WHERE sequence > $1 ORDER BY sequence LIMIT $2) AS sessions
      UNION ALL
      SELECT * FROM (SELECT sequence,
          CASE section WHEN 'admins' THEN 'admin' ELSE 'setting' END AS kind,
          CASE section WHEN 'admins' THEN key ELSE section || '/' || key END AS key,
          CASE WHEN value IS NULL THEN 1 ELSE 0 END AS is_deleted
        FROM cardea_settings WHERE sequence > $1 ORDER BY sequence LIMIT $2) AS settings
    ) AS changes ON 1 = 1 ORDER BY changes.sequence LIMIT $2`,
} as const satisfies Record<string, string>

export type StatementName = keyof typeof TEXTS

/** Statements by their names, which PostgreSQL prepares them under. Those of a module begin with its name. */
export const toStatements = <N extends string>(
  texts: Readonly<Record<N, string>>,
  prefix = '',
): { readonly [K in N]: Statement } =>
  Object.freeze(
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, { name: `${prefix}${name}`, text }]),
      // the type of fromEntries does not keep the names
    ) as Record<N, Statement>,
  )

/** Every fixed statement of the core. Those that list users depend on the bounds: see `operations/users.ts`. */
export const STATEMENTS = toStatements(TEXTS)
