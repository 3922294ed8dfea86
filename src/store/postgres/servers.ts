/**
 * The servers of a store, one of which accepts writes. `postgres://a,b/db?target_session_attrs=read-write` names several,
 * as libpq reads it.
 */
import type { Client, ClientBase, ClientConfig, QueryConfig } from 'pg'
import { codeOf, Refusal } from '../../base/errors.ts'
import { IncompatibleStoreError } from '../engine.ts'
import { CONNECT_MS, createClient, ignore } from './client.ts'
import { readPostgresError } from './errors.ts'

const ADDRESS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s

/** The URL of each server. The driver knows no URL of several. */
export function listServers(url: string): readonly string[] {
  const [, start = '', hosts = '', end = ''] = ADDRESS.exec(url) ?? []
  // the address would begin within the password, and logs would show that part as the name of a server
  if (CUT_PASSWORD.test(end)) throw new IncompatibleStoreError(ENCODE_PASSWORD)
  requireWritableTarget(end)
  if (!hosts.includes(',')) return [url]
  const names = hosts.split(',')
  if (names.includes('')) throw new IncompatibleStoreError('The address of the store has a server without a name.')
  return [...new Set(names)].map((host) => `${start}${host}${end}`)
}

/** An @ in the path, before the first value of the query, or after a #. */
const CUT_PASSWORD = /^[^?#]*@|^[^?#]*\?[^=#]*@|#.*@/s
const ENCODE_PASSWORD =
  'The address of the store has an @ after its first /, ? or #. Write such a character of the user name or password as %2F, %3F or %23, and an @ elsewhere as %40.'

const WRITABLE_TARGETS: readonly unknown[] = [undefined, 'read-write', 'primary']

function requireWritableTarget(end: string): void {
  const [, target] = /[?&]target_session_attrs=([^&#]*)/.exec(end) ?? []
  if (WRITABLE_TARGETS.includes(target)) return
  throw new IncompatibleStoreError(
    'The address of the store has a target_session_attrs other than read-write: Cardea writes to its store.',
  )
}

/** `host:port` of the URL of one server, without the password. */
export const nameServer = (url: string): string => /^[^:]+:\/\/(?:[^/?#]*@)?([^/?#@]*)/.exec(url)?.[1] || 'PostgreSQL'

/** What a server is at this moment. */
export interface ServerState {
  /** Whether it accepts writes: not a standby, and not set to read-only. */
  readonly isWritable: boolean
  /** Each promotion of a standby begins the next one. 0: not known. */
  readonly timeline: number
  /** Servers that are copies of each other have the same. */
  readonly system: string
}

const TIMELINE = `('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int`
const WRITABLE = `current_setting('transaction_read_only') = 'off' AS writable`
const STATE = `SELECT ${WRITABLE}, CASE WHEN pg_is_in_recovery() THEN 0 ELSE ${TIMELINE} END AS timeline,
  (SELECT system_identifier::text FROM pg_control_system()) AS system`

/** SQLSTATE classes of servers without timelines, which only speak the protocol, and of roles that may not see them. */
const NO_TIMELINES = /^(?:0A|42)/

interface ReadOptions {
  /** Further columns. */
  readonly select?: string
  readonly maxMs?: number
}

export async function readState(
  client: ClientBase,
  { select = '', maxMs = CONNECT_MS }: ReadOptions = {},
): Promise<ServerState> {
  const ask = async (text: string) => {
    // the types of the driver leave out the timeout of one statement
    const config: QueryConfig & Pick<ClientConfig, 'query_timeout'> = { text: text + select, query_timeout: maxMs }
    return (await client.query(config)).rows[0]
  }
  const row = await ask(STATE).catch((error: unknown) => {
    // a timeline that is not read this once must not count as unknown: an old primary would no longer be recognised
    if (!NO_TIMELINES.test(codeOf(error))) throw error
    return ask(`SELECT ${WRITABLE}`)
  })
  return { isWritable: row?.writable === true, timeline: row?.timeline ?? 0, system: row?.system ?? '' }
}

/** Whether both are copies of one server, as far as they say. */
export const isCopy = (state: ServerState, other: ServerState | undefined): boolean =>
  !other?.system || !state.system || state.system === other.system

/** Whether this is a primary that another one has replaced. */
export const isReplaced = (state: ServerState, newest: ServerState | undefined): boolean =>
  newest !== undefined && state.system === newest.system && state.timeline < newest.timeline

export const refuseServer = (detail: string): Refusal =>
  new Refusal('store_unavailable', { detail, cause: Object.assign(new Error(detail), { code: '25006' }) })

export const READ_ONLY = 'it accepts no writes: it is a standby, or default_transaction_read_only is on'
export const REPLACED =
  'another server has been promoted in its place. If this one was restored from an earlier copy, restart the node'

/** With several servers, none is waited for as long as a single one. */
const SEVERAL: ClientConfig = { connectionTimeoutMillis: 2000 }

/** A server that accepts writes. */
export interface Primary {
  readonly url: string
  readonly state: ServerState
}

/** The connection to a server, and what it is; or why it has none. */
export type ServerAttempt = Pick<Primary, 'url'> & { readonly client: Client } & (
    | { readonly state: ServerState; readonly error?: undefined }
    | { readonly state?: undefined; readonly error: unknown }
  )

async function tryServer(url: string, config: ClientConfig): Promise<ServerAttempt> {
  const client = createClient(url, config)
  client.on('error', ignore)
  try {
    await client.connect()
    return { url, client, state: await readState(client) }
  } catch (error) {
    return { url, client, error: readPostgresError(error) }
  }
}

/** Connects to all servers. The caller ends the connections. */
export function tryServers(url: string): Promise<readonly ServerAttempt[]> {
  const urls = listServers(url)
  return Promise.all(urls.map((each) => tryServer(each, urls.length > 1 ? SEVERAL : {})))
}

export interface ConnectedPrimary extends Primary {
  readonly client: Client
}

/** Connects to the server that accepts writes. */
export async function connectPrimary(url: string): Promise<ConnectedPrimary> {
  const attempts = await tryServers(url)
  const problem = findForeign(attempts)
  const primary = problem ? undefined : findPrimary(attempts)
  await Promise.all(attempts.map((each) => each !== primary && each.client.end().catch(ignore)))
  if (problem) throw problem
  if (primary?.state) return primary
  const [only, ...others] = attempts
  if (only?.error && others.length === 0) throw only.error
  throw refuseServer(`no server can be used: ${attempts.map(describeAttempt).join('; ')}`)
}

/** If two stores accept writes, neither is known to be the right one, and nodes that reach only one would use different ones. */
function findForeign(attempts: readonly ServerAttempt[]): IncompatibleStoreError | undefined {
  const writable = attempts.filter(({ state }) => state?.isWritable)
  if (writable.every(({ state }) => state && isCopy(state, writable[0]?.state))) return undefined
  const names = writable.map(({ url }) => nameServer(url)).join(', ')
  return new IncompatibleStoreError(
    `The servers of the store are not copies of each other: ${names}. Name only a primary and its standbys.`,
  )
}

/** The server to use: it accepts writes, and no other has been promoted since. */
export function findPrimary<T extends { readonly state?: ServerState | undefined }>(servers: readonly T[]) {
  const [best] = servers
    .flatMap((server) => (server.state?.isWritable ? [{ server, timeline: server.state.timeline }] : []))
    .toSorted((a, b) => b.timeline - a.timeline)
  return best?.server
}

const describeAttempt = (attempt: ServerAttempt): string => `${nameServer(attempt.url)}: ${describeFailure(attempt)}`

/** Why a server cannot be used; `undefined`: it can. */
export function describeFailure({ state, error }: ServerAttempt): string | undefined {
  if (state === undefined) return reasonOf(error)
  return state.isWritable ? undefined : READ_ONLY
}

const reasonOf = (error: unknown): string =>
  (error instanceof Refusal ? error.detail : undefined) ?? (error instanceof Error ? error.message : 'unknown failure')
