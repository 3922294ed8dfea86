/**
 * A CouchDB server as the source of an import: users page by page, administrators at once. Credentials are sent to that
 * server only; redirects are not followed.
 */
import type { IncomingMessage } from 'node:http'
import { isJsonObject, readJson } from '../../base/json.ts'
import { DumpReader, type Found } from '../../transfer/dump.ts'
import { commandError, ExitError, usageError } from '../context.ts'
import { explainFailure, readResponseBody, send } from '../remote.ts'
import type { ImportSource } from './source.ts'

export interface DocumentServer {
  /** URL of the server itself, without the database. */
  readonly base: URL
  /** The credential. Called for each request: a signed one is valid for a short time. */
  headers(): Readonly<Record<string, string>>
  /** Trusted certificate authorities, and the option that names them. */
  readonly ca?: Buffer | undefined
  readonly caOption?: string
  /** What 400 and 401 mean. Left out: the name or password is wrong. */
  readonly rejection?: string
}

const PAGE = 1000
const ANSWER_MS = 120_000
const USERS = '_users'

/** The server of an address, which may also be the address of its users' database. */
export function readServerUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // the text is not repeated: it may hold a password
  if (!url) throw usageError('This is not a URL. An example is http://host:5984.')
  if (url.username !== '' || url.password !== '') {
    throw usageError('The URL must not contain a name or password: use --source-as and --source-credentials.')
  }
  if (url.search !== '' || url.hash !== '') throw usageError('The URL must not have a query or a fragment.')
  url.pathname = `${url.pathname.replace(/\/(?:_users)?\/?$/, '')}/`
  return url
}

export async function openServerSource(server: DocumentServer, idPrefix: string): Promise<ImportSource> {
  const total = await countDocuments(server)
  let done = 0
  return {
    position: () => ({ done, total }),
    async *read(signal) {
      let after: Position = { startKey: undefined, skip: 0 }
      // a page that is being loaded is not interrupted: it arrives soon
      while (!signal.aborted) {
        const rows = await loadPage(server, idPrefix, after)
        const isSeen = after.startKey !== undefined && rows[0]?.reading.id === after.startKey
        const fresh = isSeen ? rows.slice(1) : rows
        done += fresh.length
        yield fresh
        if (rows.length < PAGE) return
        after = toPosition(after, rows)
      }
    },
  }
}

/** The last row whose id could be read, which the next page repeats, and how many rows without a readable id follow it. */
interface Position {
  readonly startKey: string | undefined
  readonly skip: number
}

function toPosition(before: Position, rows: readonly Found[]): Position {
  const last = rows.findLastIndex(({ reading }) => reading.id !== undefined)
  if (last < 0) return { ...before, skip: before.skip + rows.length }
  const following = rows.length - 1 - last
  return { startKey: rows[last]?.reading.id, skip: following > 0 ? following + 1 : 0 }
}

async function loadPage(server: DocumentServer, idPrefix: string, { startKey, skip }: Position): Promise<Found[]> {
  const query = new URLSearchParams({ include_docs: 'true', limit: String(PAGE) })
  if (startKey !== undefined) query.set('startkey', JSON.stringify(startKey))
  if (skip > 0) query.set('skip', String(skip))
  const reader = new DumpReader('document', idPrefix)
  const found: Found[] = []
  const response = await load(server, `${USERS}/_all_docs?${query}`)
  try {
    for await (const chunk of response) found.push(...reader.push(chunk))
  } catch (error) {
    throw failure(server, error)
  }
  // lines of a response mean nothing to the reader of the report
  return [...found, ...reader.end()].map(({ size, reading }) => ({ size, reading }))
}

async function countDocuments(server: DocumentServer): Promise<number | undefined> {
  const info = readJson(await loadText(server, USERS))
  if (info.kind === 'refused') throw commandError(`The server at ${server.base.host} is not a CouchDB.`)
  const count = isJsonObject(info.value) ? info.value['doc_count'] : undefined
  return typeof count === 'number' ? count : undefined
}

/** The `[admins]` section of that server, as JSON. */
export const loadAdministrators = (server: DocumentServer): Promise<string> =>
  loadText(server, '_node/_local/_config/admins')

const MAX_BYTES = 16 * 1024 * 1024

async function loadText(server: DocumentServer, path: string): Promise<string> {
  const response = await load(server, path)
  const body = await readResponseBody(response, MAX_BYTES).catch((error) => {
    throw failure(server, error)
  })
  return body.toString()
}

const REFUSALS: ReadonlyMap<number, string> = new Map([
  [401, 'it rejects this name and password, or they do not belong to an administrator'],
  [403, 'this name may not read its users'],
  [404, 'it has no such database'],
])

async function load(server: DocumentServer, path: string): Promise<IncomingMessage> {
  const { base, headers, ca, rejection } = server
  const request = { headers: { ...headers(), Accept: 'application/json' }, ca, timeoutMs: ANSWER_MS }
  const response = await send(new URL(path, base), request).catch((error) => {
    throw failure(server, error)
  })
  const { statusCode: status = 0 } = response
  if (status >= 200 && status < 300) return response
  response.destroy()
  if (status >= 300 && status < 400)
    throw unreadable(base, 'it redirects to another URL, and redirects are not followed')
  // CouchDB responds 400 to a token that none of its keys has signed
  if ((status === 401 || status === 400) && rejection !== undefined) throw unreadable(base, rejection)
  throw unreadable(base, REFUSALS.get(status) ?? `it responded with status ${status}`)
}

const failure = ({ base, caOption }: DocumentServer, error: unknown): ExitError =>
  error instanceof ExitError ? error : unreadable(base, explainFailure(error, caOption))

const unreadable = (base: URL, why: string): ExitError => commandError(`${base.host} cannot be read: ${why}.`)
