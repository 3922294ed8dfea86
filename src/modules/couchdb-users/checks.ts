// What `cardea check` finds about users that are in CouchDB.
import { messageOf } from '../../base/errors.ts'
import type { Settings } from '../../config/settings.ts'
import { readStore } from '../../store/backup/engines.ts'
import { readRows, type StoreSnapshot } from '../../store/backup/snapshot.ts'
import type { CheckedWith, Finding, ModuleCheck } from '../module.ts'
import { createUsersDatabase } from './database.ts'
import {
  type CopyProgress,
  HEALTH_NAME,
  MIRROR_TABLE,
  REFUSED_TABLE,
  type RefusedDocument,
  readProgress,
  readRefused,
} from './state.ts'

export const COUCHDB_USERS_CHECK: ModuleCheck = {
  name: HEALTH_NAME,
  isConfigured: ({ values }) => values.upstream.document.length > 0,
  async find(settings, given) {
    // why the store cannot be read is a finding about the store
    const progress = given.hasStore
      ? await readStore(settings.values.store.url, findProgress).catch(() => undefined)
      : undefined
    if (!progress) return [OWN]
    if (progress.phase !== 'following' || progress.release) return [MOVING]
    return [...(await checkAdministrators(settings, given)), ...(await checkDocuments(settings))]
  },
  ok: 'all of them are users here',
}

const OWN: Finding = { level: 'ok', message: 'no copy of them is in the store' }

const MOVING: Finding = {
  level: 'warning',
  message: 'the users are being copied from CouchDB, or moved there or back',
  advice: 'See cardea status.',
}

async function findProgress(snapshot: StoreSnapshot): Promise<CopyProgress | undefined> {
  for await (const row of readRows(snapshot, MIRROR_TABLE)) if (row['data'] !== '') return readProgress(row)
  return undefined
}

/** They are not among the users, and those of each node of CouchDB are its own. */
async function checkAdministrators(settings: Settings, { findDatabase }: CheckedWith): Promise<readonly Finding[]> {
  const { values, admins } = settings
  try {
    const names = await createUsersDatabase(findDatabase, values.chttpd_auth.authentication_db).listAdministrators()
    const known = new Set(admins.map(({ name }) => name))
    const unknown = names.filter((name) => !known.has(name))
    const message = 'administrators of CouchDB are not administrators of Cardea'
    const advice = 'Add them with cardea admin add, if they shall sign in through Cardea.'
    return unknown.length === 0 ? [] : [{ level: 'warning', message, names: unknown, advice }]
  } catch (error) {
    const advice = 'Compare upstream.document-identity and its secret with the configuration of CouchDB.'
    return [{ level: 'problem', message: `CouchDB cannot be asked: ${messageOf(error)}`, advice }]
  }
}

/** By why they are refused. */
async function checkDocuments({ values }: Settings): Promise<readonly Finding[]> {
  // why the store cannot be read is a finding about the store
  const refused = await readStore(values.store.url, listAll).catch(() => [])
  const groups = Map.groupBy(refused, ({ kind, reason }) => (kind === 'conflict' ? CONFLICTS : `left out: ${reason}`))
  return [...groups].map(([message, documents]) => ({
    level: 'warning',
    message,
    names: documents.map(({ document }) => document),
    advice: 'Repair the documents in CouchDB, or end the reason: a running server looks at each of them again.',
  }))
}

const CONFLICTS = 'cannot sign in, because the document has conflicts'

async function listAll(snapshot: StoreSnapshot): Promise<readonly RefusedDocument[]> {
  const refused: RefusedDocument[] = []
  for await (const row of readRows(snapshot, REFUSED_TABLE)) refused.push(readRefused(row))
  return refused
}
