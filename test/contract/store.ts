/**
 * The contract of a store, run for every engine. A test file creates empty stores; each test gets its own.
 */
import { describe, it } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import { KERNEL_ROWS } from '../../src/modules.ts'
import { type OpenStore, openStore, type StoreSettings } from '../../src/store/create-store.ts'
import { AUDIT_TESTS } from './store-audit.ts'
import { CODE_TESTS } from './store-codes.ts'
import { DAMAGE_TESTS } from './store-damage.ts'
import { FAILURE_TESTS } from './store-failures.ts'
import { FEED_TESTS } from './store-feed.ts'
import { JOB_TESTS } from './store-jobs.ts'
import { LISTING_TESTS } from './store-listing.ts'
import { MAIL_REQUEST_TESTS } from './store-mail-requests.ts'
import { MIRROR_TESTS } from './store-mirror.ts'
import { RECOVERY_CODE_TESTS } from './store-one-time-secrets.ts'
import { PASSWORD_LINK_TESTS } from './store-password-links.ts'
import { PROCESS_TESTS } from './store-processes.ts'
import { SESSION_RECORD_TESTS } from './store-session-records.ts'
import { SESSION_TESTS } from './store-sessions.ts'
import { SETTING_TESTS } from './store-settings.ts'
import { SIGN_IN_TESTS } from './store-sign-ins.ts'
import { TIME_TESTS } from './store-time.ts'
import { TOKEN_USE_TESTS } from './store-token-uses.ts'
import { NODE_TESTS, TOTALS_TESTS } from './store-totals.ts'
import { USER_DATABASE_TESTS } from './store-user-databases.ts'
import { USER_SEARCH_TESTS } from './store-user-search.ts'
import { USER_TESTS } from './store-users.ts'
import { STORE_SETTINGS } from './store-values.ts'
import { WRITE_CHECK_TESTS } from './store-write-check.ts'

/** An empty place for a store. */
export interface StorePlace {
  readonly url: string
  execute(sql: string): Promise<readonly Record<string, unknown>[]>
  remove(): Promise<void>
}

export interface StoreScene {
  readonly place: StorePlace
  readonly store: OpenStore
  /** A second store at the same place, as another node has it. */
  openAnother(): Promise<OpenStore>
  /** What modules read while users are written. */
  setSettings(settings: StoreSettings): void
}

/** Each test by the behaviour it shows. */
export type StoreTests = Readonly<Record<string, (scene: StoreScene) => Promise<void>>>

export const STORE_TESTS: Readonly<Record<string, StoreTests>> = {
  users: USER_TESTS,
  'listing of users': LISTING_TESTS,
  'search for users': USER_SEARCH_TESTS,
  'damaged records': DAMAGE_TESTS,
  'ended sessions': SESSION_TESTS,
  sessions: SESSION_RECORD_TESTS,
  'uses of access tokens': TOKEN_USE_TESTS,
  'last sign-ins': SIGN_IN_TESTS,
  'one-time codes': CODE_TESTS,
  'recovery codes': RECOVERY_CODE_TESTS,
  'password links': PASSWORD_LINK_TESTS,
  'requests for messages': MAIL_REQUEST_TESTS,
  'failed password checks': FAILURE_TESTS,
  totals: TOTALS_TESTS,
  nodes: NODE_TESTS,
  jobs: JOB_TESTS,
  'databases of users': USER_DATABASE_TESTS,
  'copy of users': MIRROR_TESTS,
  settings: SETTING_TESTS,
  'time of the store': TIME_TESTS,
  'audit trail': AUDIT_TESTS,
  'change feed': FEED_TESTS,
  'check of writes': WRITE_CHECK_TESTS,
  'several processes': PROCESS_TESTS,
}

export function describeStore(engine: string, createPlace: () => Promise<StorePlace>): void {
  describe(`store contract: ${engine}`, () => {
    for (const [group, tests] of Object.entries(STORE_TESTS)) {
      describe(group, () => {
        for (const [behaviour, test] of Object.entries(tests)) it(behaviour, () => withScene(createPlace, test))
      })
    }
  })
}

export async function withScene(
  createPlace: () => Promise<StorePlace>,
  test: (scene: StoreScene) => Promise<void>,
): Promise<void> {
  const place = await createPlace()
  const opened: OpenStore[] = []
  let settings = STORE_SETTINGS
  const open = async () => {
    const store = await openStore(place.url, { log: SILENT_LOG, rows: KERNEL_ROWS.store, settings: () => settings })
    opened.push(store)
    return store
  }
  try {
    const setSettings = (next: StoreSettings) => {
      settings = next
    }
    await test({ place, store: await open(), openAnother: open, setSettings })
  } finally {
    for (const store of opened) await store.close()
    await place.remove()
  }
}
