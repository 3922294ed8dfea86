/** What a backup of one engine, restored into the same or another one, must do. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { reviseUser } from '../../src/directory/users/revisions.ts'
import { findLink, putLink } from '../../src/modules/password-links/links.ts'
import { openSnapshot } from '../../src/store/backup/engines.ts'
import { type BackupSummary, FIRST_ROW_LINE } from '../../src/store/backup/format.ts'
import { type RestoreOptions, restoreBackup } from '../../src/store/backup/restore-backup.ts'
import { writeBackup } from '../../src/store/backup/write-backup.ts'
import { type OpenStore, openStore } from '../../src/store/create-store.ts'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import type { StorePlace } from './store.ts'
import { fillAudit } from './store-audit.ts'
import { create, createIn, deleteIn, lastSequence, newUser } from './store-values.ts'

export type CreatePlace = () => Promise<StorePlace>

interface BackupScene {
  readonly from: StorePlace
  readonly to: StorePlace
  readonly file: string
}

const NOW = 1_800_000_000

/** Something in every table, with values that engines and formats tend to change. */
export async function fillStore(store: Store): Promise<void> {
  const odd = newUser('ünï ☃ 𝒳')
  const members = [['text', 'U+0000 \0, "quotes" \\ and\nlines'] as const, ['list', [1.5, null, {}]] as const]
  const document = { ...odd.document, members }
  await store.writeUser({ expected: 'absent', record: reviseUser(odd, { ...odd, document }) })
  for (const name of ['Zoe', 'ada', 'deleted']) await createIn(store, name)
  await deleteIn(store, 'deleted')
  await store.endSession({ id: 'ended', name: 'ada', expiresAt: NOW })
  const times = { createdAt: NOW, seenAt: NOW, expiresAt: NOW + 600 }
  const client = { door: 'document', peer: '192.0.2.1', userAgent: 'curl' }
  await store.putSessionRecords([
    { id: 's1', name: 'ada', generation: 1, ...times, ...client },
    { id: 's2', name: 'Zoe', generation: undefined, ...times, ...client },
  ])
  await store.putTokenUses([{ mark: 'm', name: 'ada', usedAt: NOW }])
  await store.useCodeStep({ factor: FACTOR, step: 42, purgeBefore: 0 })
  await store.putSignIns([{ name: 'ada', at: NOW, peer: '192.0.2.1' }])
  await store.addFailures({ node: 'n', atMs: 5, expiresAt: NOW, failures: [{ counter: 'peer', key: 'k', count: 1 }] })
  await store.setSetting({ section: 'log', key: 'level', text: 'debug', nowSeconds: NOW })
  await store.setSetting({ section: 'admins', key: 'root', text: '-pbkdf2-a,b,1', nowSeconds: NOW })
  await store.unsetSetting({ section: 'admins', key: 'gone', nowSeconds: NOW })
  await fillAudit(store)
}

/** The second factor of a user. */
const FACTOR = { name: 'ada', version: 'first' }

const FILLED =
  'audit audit_chains ended_sessions failure_state failures sessions settings sign_ins spent_codes state token_uses users'.split(
    ' ',
  )

export async function withStore<T>({ url }: StorePlace, work: (store: OpenStore) => Promise<T>): Promise<T> {
  const store = await openStore(url, { log: SILENT_LOG })
  return work(store).finally(() => store.close())
}

export async function save({ url }: StorePlace, file: string): Promise<BackupSummary> {
  const snapshot = await openSnapshot(url)
  const { problems, ...summary } = await writeBackup(snapshot, file, { nowMs: NOW * 1000 }).finally(() =>
    snapshot.close(),
  )
  assert.deepEqual(problems, [])
  return summary
}

export const restore = ({ url }: StorePlace, file: string, more: Partial<RestoreOptions> = {}) =>
  restoreBackup(file, { url, mayReplace: false, log: SILENT_LOG, ...more })

/** Writes the file again with other lines. */
export function rewrite(file: string, change: (lines: string[]) => readonly string[]): void {
  const lines = gunzipSync(readFileSync(file)).toString().split('\n')
  writeFileSync(file, gzipSync(change(lines).join('\n')))
}

type ForgeRow = (table: string, row: readonly unknown[]) => readonly (readonly unknown[])[]

/** Writes the file again with other rows, and with the counts and the SHA-256 that belong to them. */
export function forge(file: string, change: ForgeRow): void {
  rewrite(file, ([header = '', second = '', ...rest]) => {
    const content = JSON.parse(second)
    const tables: object[] = []
    const rows: unknown[] = []
    for (const table of content.tables) {
      const changed = rest.splice(0, table.rows).flatMap((line) => change(table.name, JSON.parse(line).slice(1)))
      tables.push({ ...table, rows: changed.length })
      rows.push(...changed.map((row, index) => [rows.length + FIRST_ROW_LINE + index, ...row]))
    }
    return seal([header, ...[{ ...content, tables }, ...rows].map((line) => JSON.stringify(line))])
  })
}

/** The lines with the SHA-256 that belongs to them. */
function seal([header = '', ...lines]: readonly string[]): readonly string[] {
  const hashed = lines.map((line) => `${line}\n`).join('')
  return [header, `${hashed}${JSON.stringify({ sha256: createHash('sha256').update(hashed).digest('hex') })}`, '']
}

/** Two rows of the same table, which has several. */
const exchangeRows = (file: string): void =>
  rewrite(file, (lines) => {
    const at = lines.findIndex((line) => line.includes('"ada"') && line.includes('sessionsFrom'))
    const sealed = lines.slice(0, -2)
    const [one = '', other = ''] = sealed.slice(at - 1, at + 1)
    return seal(sealed.toSpliced(at - 1, 2, other, one))
  })

const truncate = (file: string): void => {
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.subarray(0, bytes.length - 20))
}

const flipByte = (file: string): void => {
  const bytes = readFileSync(file)
  bytes[Math.floor(bytes.length / 2)] = 255 - (bytes[Math.floor(bytes.length / 2)] ?? 0)
  writeFileSync(file, bytes)
}

type Damage = readonly [what: string, damage: (file: string) => void, message: RegExp]

const LINKS = '"links":[{"provider":"staff","issuer":"https://id.example.com","subject":"1","linkedAt":1}]'

const NEXT_SCHEMA = MIGRATIONS.length + 1

const DAMAGES: readonly Damage[] = [
  ['is truncated', truncate, /^The backup is damaged: it ends early\. Nothing was changed\. Use another copy/],
  ['has a changed byte', flipByte, /^The backup is damaged: .*Nothing was changed/],
  [
    'has a changed value',
    (file) => rewrite(file, (lines) => lines.map((line) => line.replace('"ada"', '"eve"'))),
    /does not match its SHA-256/,
  ],
  ['lacks a row', (file) => rewrite(file, (lines) => lines.toSpliced(3, 1)), /^The backup is damaged/],
  [
    'has two rows exchanged',
    exchangeRows,
    /^The backup is damaged: line \d+ is not in its place\. Nothing was changed/,
  ],
  ['lacks its last line', (file) => rewrite(file, (lines) => lines.toSpliced(-2, 1)), /it ends early/],
  ['has more lines', (file) => rewrite(file, (lines) => [...lines.slice(0, -1), '[]', '']), /follows its last line/],
  [
    'names another table',
    (file) => rewrite(file, (lines) => lines.map((line) => line.replace('cardea_users', 'other_users'))),
    /does not match its SHA-256/,
  ],
  [
    'has a newer format',
    (file) => rewrite(file, (lines) => lines.map((line) => line.replace('"version":2', '"version":3'))),
    /format 3, which this Cardea does not know\. Restore it with Cardea/,
  ],
  ['is no backup', (file) => writeFileSync(file, '{"docs":[]}\n'), /^The file is not a backup of Cardea/],
  ['is another gzip file', (file) => writeFileSync(file, gzipSync('hello\n')), /^The file is not a backup of Cardea/],
  [
    'has a user twice',
    (file) => forge(file, (table, row) => (table === 'cardea_users' && row.includes('ada') ? [row, row] : [row])),
    /^The backup is damaged: two rows of cardea_users have the same key\. Nothing was changed/,
  ],
  [
    'has text in place of a number',
    (file) =>
      forge(file, (table, row) => [row.map((cell) => (table === 'cardea_sign_ins' && cell === NOW ? 'now' : cell))]),
    /^The backup is damaged: a row of cardea_sign_ins has a value of the wrong kind\. Nothing was changed/,
  ],
  [
    'has an external account of two users',
    (file) =>
      forge(file, (table, row) => [
        row.map((cell) =>
          table === 'cardea_users' && typeof cell === 'string'
            ? cell.replace('{"isActive"', `{${LINKS},"isActive"`)
            : cell,
        ),
      ]),
    /^The backup is damaged: \w+ and \w+ have the same external account or address\. Nothing was changed/,
  ],
  ['is empty', (file) => writeFileSync(file, ''), /The backup is damaged: it ends early|not a backup/],
]

type BackupTest = (scene: BackupScene) => Promise<void>

const TESTS: Readonly<Record<string, BackupTest>> = {
  async 'copies everything, and the copy has the same SHA-256'({ from, to, file }) {
    await withStore(from, fillStore)
    const saved = await save(from, file)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const filled = saved.tables.filter(({ rows }) => rows > 0).map(({ name }) => name.replace('cardea_', ''))
    for (const name of FILLED) assert.ok(filled.includes(name), name)
    assert.deepEqual(await restore(to, file), saved)
    assert.equal((await save(to, `${file}.second`)).sha256, saved.sha256)
  },

  async 'the copy is in use as the original would be'({ from, to, file }) {
    await withStore(from, fillStore)
    await save(from, file)
    await restore(to, file)
    const find = (store: Store) => store.findUser('ünï ☃ 𝒳')
    const original = await withStore(from, find)
    await withStore(to, async (store) => {
      assert.deepEqual(await find(store), original)
      assert.equal(await store.countUsers(), 3)
      assert.equal((await store.findUser('deleted'))?.record.kind, 'tombstone')
      assert.equal(await store.useCodeStep({ factor: FACTOR, step: 42, purgeBefore: 0 }), false)
      const before = await lastSequence(store)
      assert.equal(await createIn(store, 'new'), before + 1)
    })
  },

  async 'begins another history, also in the place of the store it was saved from'({ from, file }) {
    await withStore(from, fillStore)
    await save(from, file)
    const [before, saved] = await withStore(from, async (store) => [await store.head(), await lastSequence(store)])
    await restore(from, file, { mayReplace: true })
    await withStore(from, async (store) => {
      assert.equal((await store.changesSince(before, 10)).isKnown, false)
      assert.equal(await lastSequence(store), saved)
      assert.notEqual((await store.head()).mark, before.mark)
    })
  },

  async 'ends what may have been revoked since, if asked for'({ from, to, file }) {
    const token = { id: 1, name: 't', createdAt: 1, validUntil: NOW, fingerprint: 'v1...abcdef', digest: 'd' }
    await withStore(from, async (store) => {
      await fillStore(store)
      const found = (await store.findUser('Zoe')) ?? assert.fail()
      if (found.record.kind !== 'user') assert.fail()
      const multiModel = { ...found.record.multiModel, tokens: [token] }
      await store.writeUser({ expected: found.sequence, record: { ...found.record, multiModel } })
      await store.putRecoveryCodes({ name: 'ada', version: 'v' }, ['digest'])
      const link = { purpose: 'password', name: 'ada', digest: 'link', version: 'v', data: '', expiresAt: NOW }
      await putLink(store.statements, link, 0)
      const job = { key: 'k', payload: '{}' }
      await store.addJobs(['mail.invitation', 'mail.notice', 'user-databases.follow'].map((kind) => ({ ...job, kind })))
    })
    await save(from, file)
    const list = (store: Store) => Promise.all(['ada', 'Zoe', 'deleted'].map((name) => store.findUser(name)))
    const before = await withStore(from, list)
    await restore(to, file, { endSessionsAt: NOW + 5 })
    await withStore(to, async (store) => {
      for (const [index, user] of (await list(store)).entries()) {
        const [was, record] = [before[index]?.record, user?.record ?? assert.fail()]
        assert.ok(record.sessionEpoch.generation > (was?.sessionEpoch.generation ?? assert.fail()))
        assert.equal(record.sessionEpoch.seconds, NOW + 5)
        if (record.kind === 'user') assert.deepEqual(record.multiModel.tokens, [])
      }
      assert.deepEqual(await store.listSessionRecords({ name: 'ada', limit: 10 }), [])
      assert.equal(await store.useRecoveryCode({ name: 'ada', version: 'v' }, 'digest'), false)
      assert.equal(await findLink(store.statements, 'link'), undefined)
      const jobs = (await store.countJobs()).map(({ kind }) => kind)
      assert.deepEqual(jobs, ['user-databases.follow'], 'a message would have a new link')
      assert.deepEqual(
        (await store.listEndedSessions(0, 10)).map(({ id }) => id),
        ['ended'],
      )
      const sequence = await lastSequence(store)
      assert.equal(await createIn(store, 'new'), sequence + 1)
    })
    // by a machine whose clock is behind the one that made the backup
    await restore(to, file, { endSessionsAt: 1, mayReplace: true })
    const { record } = (await withStore(to, (store) => store.findUser('ada'))) ?? assert.fail()
    assert.equal(record.sessionEpoch.seconds, NOW)
    const { livedMs, agreedMs } = await withStore(to, (store) => store.readTime())
    assert.deepEqual([livedMs, agreedMs], [0, 0], 'its time begins with the clock')
  },

  async 'is of one moment: later writes are not in it'({ from, to, file }) {
    await withStore(from, async (store) => {
      await createIn(store, 'before')
      const snapshot = await openSnapshot(from.url)
      await createIn(store, 'after')
      await writeBackup(snapshot, file, { nowMs: 0 })
      await snapshot.close()
      assert.equal(await store.countUsers(), 2)
    })
    await restore(to, file)
    assert.equal(await withStore(to, (store) => store.countUsers()), 1)
  },

  async 'copies many pages'({ from, to, file }) {
    const names = Array.from({ length: 1200 }, (_, index) => `user-${index}`)
    await withStore(from, async (store) => {
      for (let at = 0; at < names.length; at += 200) await store.importUsers(names.slice(at, at + 200).map(create))
    })
    const seen: number[] = []
    await save(from, file)
    await restore(to, file, { onProgress: ({ done }) => seen.push(done) })
    assert.equal(await withStore(to, (store) => store.countUsers()), 1200)
    // a user has a record, a last sign-in, and search entries for the name, for its folded form, and for each of its ends
    // of two characters and more
    const rows = names.map((name) => 2 + name.length).reduce((sum, length) => sum + length)
    assert.ok(seen.length >= 3 && seen.at(-1) === rows + 3, String(seen))
  },

  async 'a store that is not empty is replaced only if allowed'({ from, to, file }) {
    await withStore(from, fillStore)
    await save(from, file)
    await withStore(to, (store) => createIn(store, 'existing'))
    await assert.rejects(restore(to, file), { name: 'BackupError', message: /not empty.*--replace/s })
    assert.ok(await withStore(to, (store) => store.findUser('existing')))
    await restore(to, file, { mayReplace: true })
    assert.equal(await withStore(to, (store) => store.findUser('existing')), undefined)
    assert.equal(await withStore(to, (store) => store.countUsers()), 3)
  },

  async 'a store that only was opened is empty'({ from, to, file }) {
    await withStore(from, fillStore)
    await save(from, file)
    await withStore(to, async () => {})
    await restore(to, file)
    assert.equal(await withStore(to, (store) => store.countUsers()), 3)
  },

  async 'a schema of a newer version is refused, in a store and in a file'({ from, to, file }) {
    await withStore(from, fillStore)
    await from.execute(`INSERT INTO cardea_migrations (number, name) VALUES (${NEXT_SCHEMA}, 'next')`)
    await assert.rejects(save(from, file), { name: 'BackupError', message: /Make the backup with the newer version/ })
    const schema = MIGRATIONS.length
    await from.execute(`DELETE FROM cardea_migrations WHERE number > ${schema}`)
    await save(from, file)
    const newer = { tables: [], schema: NEXT_SCHEMA }
    await assert.rejects(restore(to, withSchema(file, newer), { mayReplace: true }), {
      message: new RegExp(`schema ${NEXT_SCHEMA}, .*knows schema ${schema}\\. Nothing was changed\\. Restore it with`),
    })
  },

  async 'a file whose tables are not those of its schema is refused'({ from, to, file }) {
    await withStore(from, fillStore)
    await save(from, file)
    const other = { tables: [{ name: 'cardea_users; DROP TABLE x', columns: ['name'], rows: 0 }], schema: 1 }
    await assert.rejects(restore(to, withSchema(file, other)), { message: /its tables are not those of its schema/ })
    await restore(to, file)
  },
}

/** A complete file with another second line and no rows. */
function withSchema(file: string, content: object): string {
  const [header = ''] = gunzipSync(readFileSync(file)).toString().split('\n')
  const second = `${JSON.stringify(content)}\n`
  const sha256 = createHash('sha256').update(second).digest('hex')
  const path = `${file}.other`
  writeFileSync(path, gzipSync(`${header}\n${second}${JSON.stringify({ sha256 })}\n`))
  return path
}

export function describeBackup(direction: string, createFrom: CreatePlace, createTo: CreatePlace): void {
  const openScene = async (): Promise<BackupScene> => {
    const folder = mkdtempSync(join(tmpdir(), 'cardea-backup-'))
    return { from: await createFrom(), to: await createTo(), file: join(folder, 'backup.gz') }
  }
  const inScene = (test: BackupTest) => async () => {
    const scene = await openScene()
    await test(scene).finally(() => removeScene(scene))
  }
  describe(`backup and restore: ${direction}`, () => {
    for (const [behaviour, test] of Object.entries(TESTS)) it(behaviour, inScene(test))
    describe('a damaged file', () => describeDamages(openScene))
  })
}

async function removeScene({ from, to, file }: BackupScene): Promise<void> {
  await from.remove()
  await to.remove()
  rmSync(dirname(file), { recursive: true, force: true })
}

/** None changes the store, so all have the same. */
function describeDamages(openScene: () => Promise<BackupScene>): void {
  let scene: BackupScene
  before(async () => {
    scene = await openScene()
    await withStore(scene.from, fillStore)
    await withStore(scene.to, (store) => createIn(store, 'existing'))
    await save(scene.from, scene.file)
  })
  after(() => removeScene(scene))
  for (const [what, damage, message] of DAMAGES)
    it(`that ${what} changes nothing`, async () => {
      const file = `${scene.file}.damaged`
      copyFileSync(scene.file, file)
      damage(file)
      await assert.rejects(restore(scene.to, file, { mayReplace: true }), { name: 'BackupError', message })
      assert.ok(await withStore(scene.to, (store) => store.findUser('existing')))
    })
}
