// What browsers have and other platforms may lack.

interface Locks {
  request<T>(name: string, work: () => Promise<T>): Promise<T>
}

/** The parts used here; types of their own, so that neither DOM nor Node types are needed. */
interface Platform {
  readonly location?: Location
  readonly navigator?: { readonly locks?: Locks; readonly credentials?: Credentials }
  /** Browsers have it on pages with HTTPS, and at `localhost`. */
  readonly PublicKeyCredential?: PasskeyFunctions
  readonly localStorage?: TokenStorage
  readonly BroadcastChannel?: new (name: string) => Channel
}

interface Credentials {
  create(options: object): Promise<Made>
  get(options: object): Promise<Made>
}

interface Made {
  toJSON(): object
}

interface PasskeyFunctions {
  parseCreationOptionsFromJSON(options: object): object
  parseRequestOptionsFromJSON(options: object): object
  isConditionalMediationAvailable?(): Promise<boolean>
}

interface Location {
  readonly href: string
  /** A worker has none. */
  assign?(url: string): void
}

export interface Channel {
  onmessage: ((message: { readonly data: unknown }) => void) | null
  postMessage(data: unknown): void
  close(): void
}

/**
 * Where tokens and the last known session are kept: `localStorage`, which all tabs of the origin share, or an object with
 * the same methods. They may return promises, as `AsyncStorage` of React Native does.
 */
export interface TokenStorage {
  getItem(key: string): string | null | Promise<string | null>
  setItem(key: string, value: string): unknown
  removeItem(key: string): unknown
}

const platform = globalThis as unknown as Platform

let [elapsed, wall, steady] = [0, Date.now(), performance.now()]

/**
 * Milliseconds for intervals. The value never goes back, even when the clock is set back. It counts the time in which the
 * device sleeps, which `performance.now()` leaves out on some platforms.
 */
export function now(): number {
  const before = [wall, steady] as const
  ;[wall, steady] = [Date.now(), performance.now()]
  elapsed += Math.max(wall - before[0], steady - before[1], 0)
  return elapsed
}

/** `undefined` outside a browser. */
export const findPage = (): Location | undefined => platform.location

/** Passkeys as JSON. `undefined`: this page has none, because of the browser, or because its host is an address. */
export function findPasskeys() {
  const { location, PublicKeyCredential: keys } = platform
  const credentials = platform.navigator?.credentials
  const isNamed = location && !/^(?:[\d.]+|\[.*)$/.test(new URL(location.href).hostname)
  // an old browser has no functions for JSON
  if (!isNamed || !credentials || !keys?.parseRequestOptionsFromJSON) return undefined
  return {
    create: async (options: object, more: object) =>
      (await credentials.create({ publicKey: keys.parseCreationOptionsFromJSON(options), ...more })).toJSON(),
    get: async (options: object, more: object) =>
      (await credentials.get({ publicKey: keys.parseRequestOptionsFromJSON(options), ...more })).toJSON(),
    areListed: async () => (await keys.isConditionalMediationAvailable?.()) === true,
  }
}

/** The URL of a door, with a slash at its end. A page may give a path of its own origin. */
export function toBase(url: string): string {
  const page = platform.location?.href
  const parsed = URL.canParse(url, page) ? new URL(url, page) : undefined
  // no message shows the URL: it may have a password
  if (!parsed?.protocol.startsWith('http'))
    throw new TypeError('url must begin with http:// or https://, or be a path of the page.')
  const { href, username, password } = parsed
  if (username || password) throw new TypeError('url must have no name and no password: give them to signIn.')
  return href.endsWith('/') ? href : `${href}/`
}

/** Connects the tabs of an origin. Clients outside a browser share nothing: each has its own session. */
export const openChannel = (name: string): Channel | undefined =>
  platform.location && platform.BroadcastChannel ? new platform.BroadcastChannel(name) : undefined

/** Runs `work` in one tab at a time, where the browser has locks. */
export const runAlone = <T>(name: string, work: () => Promise<T>): Promise<T> =>
  platform.location && platform.navigator?.locks ? platform.navigator.locks.request(name, work) : work()

/** `undefined` outside a page, and where the browser is set to keep nothing. */
export function findLocalStorage(): TokenStorage | undefined {
  try {
    return platform.location && platform.localStorage
  } catch {
    return undefined
  }
}

/** A value in a storage. What is not JSON counts as none. */
export function createItem<T>(storage: TokenStorage, key: string) {
  // a write that takes long must not end after a later one
  let last: Promise<unknown> = Promise.resolve()
  return {
    async find(): Promise<T | null> {
      const text = await storage.getItem(key)
      try {
        return JSON.parse(String(text))
      } catch {
        return null
      }
    },
    async set(value: T | null): Promise<void> {
      const write = () => (value ? storage.setItem(key, JSON.stringify(value)) : storage.removeItem(key))
      const written = last.then(write, write)
      last = written
      await written
    },
  }
}

/** For one page, until it is closed. */
export function createMemoryStorage(): TokenStorage {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  }
}
