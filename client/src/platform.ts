// What browsers have and other platforms may lack.

interface Locks {
  request<T>(name: string, work: () => Promise<T>): Promise<T>
}

/** The parts used here; types of their own, so that neither DOM nor Node types are needed. */
interface Platform {
  readonly location?: { readonly href: string }
  readonly navigator?: { readonly locks?: Locks }
  readonly localStorage?: TokenStorage
  readonly BroadcastChannel?: new (name: string) => Channel
}

export interface Channel {
  onmessage: ((message: { readonly data: unknown }) => void) | null
  postMessage(data: unknown): void
  close(): void
}

/** Where tokens are kept. `localStorage` is shared by all tabs of the origin. */
export interface TokenStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
  removeItem(key: string): void
}

const platform = globalThis as unknown as Platform

/** The URL of a door, with a slash at its end. A page may give a path of its own origin. */
export function toBase(url: string): string {
  if (!URL.canParse(url, platform.location?.href))
    throw new TypeError(`url must be a URL, in Node an absolute one: ${url}`)
  const { href } = new URL(url, platform.location?.href)
  return href.endsWith('/') ? href : `${href}/`
}

/** Connects the tabs of an origin. Clients outside a browser share nothing: each has its own session. */
export const openChannel = (name: string): Channel | undefined =>
  platform.location && platform.BroadcastChannel ? new platform.BroadcastChannel(name) : undefined

/** Runs `work` in one tab at a time, where the browser has locks. */
export const runAlone = <T>(name: string, work: () => Promise<T>): Promise<T> =>
  platform.location && platform.navigator?.locks ? platform.navigator.locks.request(name, work) : work()

export const isShared = (storage: TokenStorage): boolean =>
  platform.location !== undefined && storage === platform.localStorage

/** For one page, until it is closed. */
export function createMemoryStorage(): TokenStorage {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  }
}
