/**
 * The keys of an identity provider, fetched from it and kept. Requests never wait for a fetch while the keys are recent.
 * A provider that cannot be reached is asked less and less often; meanwhile its last keys count.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fetchText, isSecureUrl } from '../../base/bounded-fetch.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { findMember, isJsonObject, readJson } from '../../base/json.ts'
import type { Log } from '../../base/log.ts'
import { shareRun } from '../../base/turns.ts'
import { readJwkSet } from '../../keys/jwk.ts'
import { isKeyFor, type VerificationKey } from '../../keys/key.ts'
import type { FoundKeys, TokenHeader } from '../../keys/verify.ts'

export interface ProviderPlace {
  readonly name: string
  /** The accepted issuers. The discovery document must name one of them, or `issuer`. */
  readonly issuers: readonly string[]
  /** With {tenantid} in it if the issuers are tenants. */
  readonly issuer: string
  /** The URL of the discovery document. */
  readonly discovery: string
  /** Empty: the one in the discovery document. */
  readonly jwksUri: string
}

/** One set of keys, as it was fetched. */
export type ProviderKeySet = Awaited<ReturnType<typeof fetchKeys>>

/** After this time the keys are fetched again, beside the requests. */
const REFRESH_MS = 600_000
/** Time between two fetches: a client can send any number of tokens with unknown keys. */
const INTERVAL_MS = 5000
const MAX_INTERVAL_MS = 300_000
/** Time between two fetches that no request waits for. They show whether the provider is up. */
const CHECK_MS = 60_000

export type ProviderKeys = ReturnType<typeof createProviderKeys>

/** `maxAgeMs`: how long the last keys count while the provider cannot be reached. */
export function createProviderKeys(place: ProviderPlace, maxAgeMs: number, clock: Clock, log: Log) {
  const { state, refresh, pauseMs } = createFetcher(place, clock, log)
  const refreshLater = shareRun(() => sleep(pauseMs()).then(refresh))
  return {
    /** The keys; `undefined`: none was fetched, or too long ago. */
    get(): ProviderKeySet | undefined {
      const ageMs = clock.nowMs() - state.fetchedMs
      if (ageMs >= REFRESH_MS && pauseMs() <= 0) void refresh()
      return ageMs < maxAgeMs ? state.keys : undefined
    },
    /** Resolves after the fetch that is running, or after the next one if it is allowed soon. */
    renew(): Promise<void> {
      if (state.running || pauseMs() <= 0) return refresh()
      return state.failures > 0 ? Promise.resolve() : refreshLater()
    },
    /** Whether the last fetch failed. */
    isFailing: (): boolean => state.problem !== undefined,
    /** Why the last fetch failed. Fetches again, beside the caller, if that was a while ago. */
    check(): string | undefined {
      if (pauseMs(CHECK_MS) <= 0) void refresh()
      return state.problem
    },
  }
}

interface Fetched {
  keys?: ProviderKeySet
  fetchedMs: number
  triedMs: number
  /** Since the last success. */
  failures: number
  /** Why the last fetch failed. */
  problem?: string | undefined
  running?: Promise<void> | undefined
}

/** Fetches the keys, once at a time, and knows how long to wait before the next fetch. */
function createFetcher(place: ProviderPlace, clock: Clock, log: Log) {
  const state: Fetched = { fetchedMs: Number.NEGATIVE_INFINITY, triedMs: Number.NEGATIVE_INFINITY, failures: 0 }
  const provider = place.name
  const fetchOnce = async (): Promise<void> => {
    try {
      state.keys = await fetchKeys(place)
      state.fetchedMs = clock.nowMs()
      if (state.failures > 0) log.info('the keys of the identity provider are available again', { provider })
      state.failures = 0
      state.problem = undefined
    } catch (error) {
      state.failures += 1
      state.problem = messageOf(error)
      log.warn('the keys of the identity provider cannot be fetched', { provider, reason: state.problem })
    } finally {
      state.triedMs = clock.nowMs()
      state.running = undefined
    }
  }
  return {
    state,
    refresh: (): Promise<void> => {
      state.running ??= fetchOnce()
      return state.running
    },
    /** Counted from the last attempt, whether it succeeded or not. */
    pauseMs(firstMs = INTERVAL_MS): number {
      const intervalMs = Math.min(firstMs * 2 ** Math.max(0, state.failures - 1), MAX_INTERVAL_MS)
      return state.triedMs + intervalMs - clock.nowMs()
    },
  }
}

/** Throws an `Error` that says what is wrong. */
export async function fetchKeys(place: ProviderPlace) {
  const set = readJwkSet(await fetchText(place.jwksUri || (await fetchDiscovery(place)).jwksUri))
  if (set.kind === 'problem') throw new Error(`the key set is not valid: ${set.reason}`)
  return {
    /** Whether a key of this version is in the set. */
    has: (version: string): boolean => set.keys.some((key) => key.version === version),
    /** `issuer`: that of the token. */
    find: (header: TokenHeader, issuer: unknown): FoundKeys => findKeys(set.keys, header, issuer),
  }
}

/** The discovery document. It must be about the issuer: otherwise the keys of another one would count as its keys. */
export async function fetchDiscovery({ issuer, issuers, discovery: url }: ProviderPlace) {
  const reading = readJson(await fetchText(url), { noDuplicates: true })
  if (reading.kind !== 'json' || !isJsonObject(reading.value)) throw new Error(`${url}: not a JSON object`)
  const found = findMember(reading.value, 'issuer')
  if (found !== issuer && !issuers.some((each) => each === found))
    throw new Error(`${url}: its issuer is ${JSON.stringify(found)}, not ${JSON.stringify(issuer)}`)
  const isEndpoint = (value: unknown): value is string => typeof value === 'string' && isSecureUrl(value, url)
  const jwksUri = findMember(reading.value, 'jwks_uri')
  if (!isEndpoint(jwksUri)) throw new Error(`${url}: jwks_uri is missing or not https`)
  return { jwksUri, document: reading.value, isEndpoint }
}

/** A token without `kid` is for a provider with few keys: each that fits its algorithm is tried. */
function findKeys(keys: readonly VerificationKey[], { kid, algorithm }: TokenHeader, issuer: unknown): FoundKeys {
  const fitting = keys.filter(
    (key) => (kid === undefined || key.kid === kid) && isKeyFor(key, algorithm) && isKeyOf(key, issuer),
  )
  return fitting.length > 0 ? { kind: 'keys', keys: fitting } : { kind: 'refused', reason: 'unknown_kid' }
}

/**
 * In the key set of Entra ID for several tenants, some keys are those of one tenant. The others have the issuer of its
 * newer tokens as their template, also where they sign older ones.
 */
const isKeyOf = ({ issuer: own }: VerificationKey, issuer: unknown): boolean =>
  own === undefined || own === issuer || own.includes('{tenantid}')
