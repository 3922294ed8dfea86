import type { Migration } from './migration.ts'

/**
 * What verifying each user's password costs, so that the most expensive one is found without reading every record. Empty
 * for tombstones and for passwords without iterations. PostgreSQL refuses JSON with U+0000 in any member, so its escapes
 * are taken out before: names of PRFs and numbers have none.
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
