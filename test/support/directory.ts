import type { Clock, SharedClock } from '../../src/base/clock.ts'
import { Refusal } from '../../src/base/errors.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import { createAlone } from '../../src/base/siblings.ts'
import { readAdministrators } from '../../src/directory/administrators.ts'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { Administration, DirectorySettings, UserSource } from '../../src/directory/deps.ts'
import { createDirectory, type Directory } from '../../src/directory/directory.ts'
import type { SettingList } from '../../src/directory/store-port/settings.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import type { User } from '../../src/directory/users/user.ts'
import type { UserEditor } from '../../src/directory/users/user-operations.ts'
import { recordFurther, SECURITY_EVENTS } from '../../src/modules.ts'
import type { SecurityEvents } from '../../src/observe/security-events.ts'
import { createHasher } from '../../src/passwords/hasher.ts'
import { type OpenStore, openStore } from '../../src/store/create-store.ts'
import { FeedFollower } from '../../src/store/feed.ts'
import type { Scope } from './scope.ts'

export const setRoles = (directory: UserEditor, name: string, roles: readonly string[]): Promise<User> =>
  directory.changeUser(name, PROGRAM, (user) => ({ ...user, document: { ...user.document, roles } }))

/** Time that moves only with `advance`. */
export interface TestClock extends Clock {
  advance(seconds: number): void
}

export const START_SECONDS = 1_800_000_000

export function createTestClock(): TestClock {
  let nowMs = START_SECONDS * 1000
  return {
    nowMs: () => nowMs,
    advance: (seconds) => {
      nowMs += seconds * 1000
    },
  }
}

/** The time of a store whose clock has always been right. */
export const toShared = (clock: Clock): SharedClock => ({ nowMs: () => clock.nowMs(), purge: clock })

/** Longer than any test: changes arrive only by `catchUp`. */
const NEVER_MS = 3_600_000

export interface ChangedSettings extends Partial<Omit<DirectorySettings, 'chttpd_auth'>> {
  readonly chttpd_auth?: Partial<DirectorySettings['chttpd_auth']>
}

export interface TestNodeOptions {
  /** `sqlite::memory:` unless given. */
  readonly url?: string
  readonly settings?: ChangedSettings
  readonly clock?: Clock
  /** The time of the store, if it is not that of `clock`. */
  openTime?(store: Store): Promise<SharedClock>
  /** The store with a deliberate fault. */
  change?(store: Store): Store
  /** Opens the server that has the users. Left out: they are those of the store. */
  openSource?(store: OpenStore, clock: Clock): Promise<UserSource>
  /** Never by itself unless given. */
  readonly pollMs?: number
  readonly events?: SecurityEvents
}

export interface TestNode {
  readonly directory: Directory
  /** The store itself, reachable also after `cut`. */
  readonly store: Store
  readonly clock: Clock
  /** From now on the store is unreachable for the directory. */
  cut(): void
  mend(): void
  /** From now on the store does not respond, until `mend`. */
  hang(): void
  /** Calls of the store since the last time. */
  countQuestions(): number
  close(): Promise<void>
}

const SETTINGS: DirectorySettings = {
  parameters: { scheme: 'pbkdf2', prf: 'sha256', iterations: 2 },
  chttpd_auth: {
    max_iterations: 1_000_000_000,
    upgrade_hash_on_auth: true,
    auth_cache_size: 100,
    max_sessions: 0,
  },
  store: { 'max-staleness': 60_000 },
  admin: { 'second-factor-roles': [] },
  auth: { names: 'exact' },
  rules: [],
  maxSessionSeconds: 3600,
  reservedPrefixes: [],
  addressesSignIn: false,
  roleIssuers: new Map(),
  countWaysIn: () => 0,
}

const OWN_KEY = Buffer.from('the own key of every node of a test')

/** A directory over a store of its own or a shared one, with the administrators the store holds. */
export async function openTestNode(scope: Scope, options: TestNodeOptions = {}): Promise<TestNode> {
  const opened = await openStore(options.url ?? 'sqlite::memory:', { log: SILENT_LOG })
  const store = options.change?.(opened) ?? opened
  const clock = options.clock ?? createTestClock()
  const chttpd_auth = { ...SETTINGS.chttpd_auth, ...options.settings?.chttpd_auth }
  const settings = { ...SETTINGS, ...options.settings, chttpd_auth }
  const line = createLine(options.pollMs === undefined ? { ...store, onWake: () => () => {} } : store)
  const source = await options.openSource?.(opened, clock)
  const directory = await createDirectory({
    store: line.store,
    source,
    hasher: createHasher({ queue: () => 1000 }),
    ownKey: () => OWN_KEY,
    administration: await createAdministration(line.store),
    settings: () => settings,
    follow: (deps) => new FeedFollower(line.store, { ...deps, clock, pollMs: options.pollMs ?? NEVER_MS }),
    clock: (await options.openTime?.(store)) ?? toShared(clock),
    siblings: createAlone(),
    events: options.events ?? { rows: SECURITY_EVENTS, record: () => {}, requireRecording: () => {} },
    recordFurther,
    log: SILENT_LOG,
  })
  let isClosed = false
  const close = async () => {
    if (isClosed) return
    isClosed = true
    await directory.close()
    await store.close()
  }
  scope.after(close)
  const { cut, mend, hang, countQuestions } = line
  return { directory, store, clock, cut, mend, hang, countQuestions, close }
}

const EPOCHS = '[admins] sessions'
const TOTP = '[admins] totp'

/** Only the administrators of the store: there are no configuration files. */
async function createAdministration(store: Store): Promise<Administration> {
  const read = ({ settings, position }: SettingList) => {
    const admins = settings.filter(({ section }) => section === 'admins')
    const epochs = settings.filter(({ section }) => section === EPOCHS)
    const factors = new Map(settings.flatMap(({ section, key, text }) => (section === TOTP ? [[key, text]] : [])))
    const changes = new Map(
      [...admins, ...epochs].map((entry) => {
        const text = factors.get(entry.key)
        const totp = text === undefined ? {} : { totp: JSON.parse(text) }
        return [entry.key, { sequence: entry.sequence, mark: entry.mark, seconds: entry.changedAt, ...totp }]
      }),
    )
    const entries = admins.flatMap(({ key, text }) => (text === undefined ? [] : [{ name: key, text }]))
    return { accounts: readAdministrators(entries, changes).accounts, changes, position }
  }
  let known = read(await store.listSettings())
  return {
    accounts: () => known.accounts,
    changedAt: (name) => known.changes.get(name)?.seconds,
    position: () => known.position,
    async replaceHash(name, from, to) {
      if (known.accounts.get(name)?.text !== from) return
      await store.setSetting({ section: 'admins', key: name, nowSeconds: START_SECONDS, text: to })
      known = read(await store.listSettings())
    },
    endSessions: async (name) => {
      await store.setSetting({ section: EPOCHS, key: name, nowSeconds: START_SECONDS, text: '' })
      known = read(await store.listSettings())
    },
    setTotp: async (name, totp) => {
      const setting = { section: TOTP, key: name, nowSeconds: START_SECONDS }
      if (totp === undefined) await store.unsetSetting(setting)
      else await store.setSetting({ ...setting, text: JSON.stringify(totp) })
      known = read(await store.listSettings())
    },
    async setPasskeys() {
      throw new Error('the administrators of these tests have no passkeys')
    },
    refresh: async () => {
      known = read(await store.listSettings())
    },
  }
}

/** A store that can be made unreachable. */
function createLine(store: Store) {
  let isCut = false
  let silence: PromiseWithResolvers<void> | undefined
  let questions = 0
  const guard =
    (operation: (...args: never[]) => unknown) =>
    async (...args: never[]) => {
      questions += 1
      await silence?.promise
      if (isCut) throw new Refusal('store_unavailable')
      return operation(...args)
    }
  const guarded = Object.entries(store).map(([name, member]) =>
    typeof member === 'function' && name !== 'onWake' ? [name, guard(member)] : [name, member],
  )
  return {
    // every operation has kept its name and form
    store: Object.fromEntries(guarded) as Store,
    cut: () => {
      isCut = true
    },
    mend: () => {
      isCut = false
      silence?.resolve()
      silence = undefined
    },
    hang: () => {
      silence = Promise.withResolvers()
    },
    countQuestions: () => {
      const count = questions
      questions = 0
      return count
    },
  }
}

/** Whether an error is a refusal with this code. */
export const isRefused =
  (code: Refusal['code']) =>
  (error: unknown): boolean =>
    error instanceof Refusal && error.code === code
