export interface EndedSession {
  readonly id: string
  readonly name: string
  /** Seconds since the epoch; from then on no copy of the session is accepted anyway. */
  readonly expiresAt: number
}

export interface EndedCount {
  readonly sequence: number
  /** The number of ended sessions of the name in the store. */
  readonly count: number
}

export interface SessionStore {
  /** May be called again for the same session; the later expiry counts. Deletes its record. */
  endSession(session: EndedSession): Promise<EndedCount>
  /** One page of the sessions that ended after this sequence, in order. 0 for the first page. */
  listEndedSessions(after: number, limit: number): Promise<readonly (EndedSession & { readonly sequence: number })[]>
  /** The ids of a name's ended sessions. */
  listEndedIds(name: string): Promise<readonly string[]>
  /** Deletes a name's records up to this sequence. The session epoch must have revoked the sessions already. */
  forgetEndedSessions(name: string, upTo: number): Promise<void>
  /** Deletes expired sessions. Returns how many. */
  purgeEnded(nowSeconds: number): Promise<number>
}

/** One session as lists of sessions show it. Whether it is live is decided elsewhere; no request reads this record. */
export interface SessionRecord {
  readonly id: string
  readonly name: string
  /** The generation of the account's session epoch; `undefined`: opened with a token of another issuer. */
  readonly generation: number | undefined
  /** The door or listener that opened it. */
  readonly door: string
  /** Seconds since the epoch, like the next two. */
  readonly createdAt: number
  /** Exact to the minute. */
  readonly seenAt: number
  /** The session is over then, unless it is used before. */
  readonly expiresAt: number
  /** Address of the client that used it last. Empty on a Unix socket. */
  readonly peer: string
  readonly userAgent: string
}

/** What sessions can be searched by, with the value of a record. Case does not matter for clients. */
export const SESSION_KEYS = {
  user: ({ name }: SessionRecord) => name,
  address: ({ peer }: SessionRecord) => peer,
  client: ({ userAgent }: SessionRecord) => describeClient(userAgent).toLowerCase(),
} as const

export type SessionKey = keyof typeof SESSION_KEYS

export interface SessionRecordRange {
  /** Only sessions of this name. */
  readonly name?: string
  /** Only sessions whose value begins with the text. The page is ordered by that value, the last one first. */
  readonly search?: { readonly by: SessionKey; readonly text: string }
  /** Only sessions opened then or later, and only earlier ones, in seconds since the epoch. */
  readonly openedFrom?: number
  readonly openedBefore?: number
  /** The last record of the previous page, for a search with its value. */
  readonly after?: SessionPosition
  /** 1 to 10 000. A shorter page is the last one. */
  readonly limit: number
}

export interface SessionPosition extends Pick<SessionRecord, 'createdAt' | 'id'> {
  readonly key?: string
}

/** The renewal token of a session. */
export interface Renewal extends Pick<SessionRecord, 'id' | 'name' | 'createdAt'> {
  readonly generation: number
  readonly digest: string
  /** The digest of the token before it. Empty: it is the first. */
  readonly previous: string
  /** Seconds since the epoch. */
  readonly renewedAt: number
}

/** How many records of one name are kept: a holder of a token can open any number of sessions. */
export const MAX_SESSION_RECORDS = 1000

export interface SessionRecordStore {
  /**
   * Adds new records. For a known one, updates the last use; the later time counts. Of each name the newest
   * `MAX_SESSION_RECORDS` are kept. This is not a change in the feed.
   */
  putSessionRecords(records: readonly SessionRecord[]): Promise<void>
  findSessionRecord(id: string): Promise<SessionRecord | undefined>
  /** One page, the newest session first. Reads a range of an index, however many sessions there are. */
  listSessionRecords(range: SessionRecordRange): Promise<readonly SessionRecord[]>
  /** `undefined`: the session has no renewal token. */
  findRenewal(id: string): Promise<Renewal | undefined>
  /**
   * Replaces the renewal token with the digest `previous` (empty: the session has none yet). `false`: it has another one,
   * or no record; of several calls at the same time, on any node, one succeeds.
   */
  renewSession(renewal: Pick<Renewal, 'id' | 'digest' | 'previous' | 'renewedAt'>, expiresAt: number): Promise<boolean>
  /** Deletes expired records. Returns how many. */
  purgeSessionRecords(nowSeconds: number): Promise<number>
}

/** The first that matches: most of them also name the browsers they are compatible with. */
const BROWSERS = [
  ['App', /Electron\//],
  ['Firefox', /(?:Firefox|FxiOS)\//],
  ['Edge', /Edg(?:e|A|iOS)?\//],
  ['Opera', /OPR\//],
  ['Samsung Internet', /SamsungBrowser\//],
  ['Chrome', /(?:Chrom(?:e|ium)|CriOS)\//],
  ['Safari', /Safari\//],
  ['App', /^Mozilla\/.*AppleWebKit\//],
] as const
const SYSTEMS = [
  ['Android', /Android/],
  ['ChromeOS', /CrOS/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
] as const

/** "Chrome on Linux"; the name of a program that is no browser as it is. Lists of sessions show it and search by it. */
export function describeClient(userAgent: string): string {
  const browser = BROWSERS.find(([, pattern]) => pattern.test(userAgent))?.[0]
  if (browser === undefined) return userAgent
  const system = SYSTEMS.find(([, pattern]) => pattern.test(userAgent))?.[0]
  return system === undefined ? browser : `${browser} on ${system}`
}
