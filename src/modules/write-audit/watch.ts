// Watches the responses to writes, and records each that succeeded.
import { findMember, isJsonObject, readJson } from '../../base/json.ts'
import { isResponseStream } from '../../http/reply.ts'
import type { Reply, RequestContext } from '../../http/request-context.ts'
import { findOrigin } from '../../observe/origin.ts'
import { findNeed } from '../document-grants/endpoints.ts'
import type { DocumentDoorCore, DocumentDoorRules, WatchForwarded } from '../module.ts'
import { createRowCounter } from './row-counter.ts'

const createWatch =
  ({ settings, events }: DocumentDoorCore): WatchForwarded =>
  (context) => {
    if (!isWritten(context, settings().audit.writes)) return undefined
    // with `audit.on-failure = refuse`, what cannot be recorded is not done
    events.requireRecording()
    // the response ends after the code of the request
    const origin = findOrigin()
    return (reply) => {
      if (reply.status < 200 || reply.status > 299) return
      const fields = { ...origin, ...toFields(context) }
      readResponse(context, reply, (found) => events.record('document.written', { ...fields, ...found }))
    }
  }

export const WRITE_RULES: DocumentDoorRules = { createWatch }

/** Everything that the table of reading requests does not name is a write, and so is a checkpoint. */
function isWritten({ method, path: { segments } }: RequestContext, databases: readonly string[]): boolean {
  if (databases.length === 0 || (READING_METHODS.has(method) && !runsFunction(segments))) return false
  const { level, maxBodyBytes, isRewrite } = findNeed(method, segments)
  // a rewrite may lead to any database
  const isListed = isRewrite || databases.includes(segments[0] ?? '') || databases.includes('*')
  return isListed && (level === 'rw' || maxBodyBytes !== undefined)
}

const READING_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** CouchDB runs these with every method. */
const runsFunction = (segments: readonly string[]): boolean =>
  segments.some((segment, index) => index > 0 && /(?:^|\/)_(?:update|rewrite)(?:\/|$)/.test(segment))

function toFields({ method, path: { segments } }: RequestContext) {
  const [database = '', first = '', second = '', third = ''] = segments
  const isFolder = (first === '_design' || first === '_local') && second !== ''
  const isDocument = isFolder ? !third.startsWith('_') : first !== '' && !first.startsWith('_')
  if (isDocument) return { database, method, document: isFolder ? `${first}/${second}` : first }
  // POST creates a document, which the response names
  if (first === '') return method === 'POST' ? { database, method } : { database, method, endpoint: '/' }
  return { database, method, endpoint: segments.slice(1).findLast((segment) => segment.startsWith('_')) }
}

/** What the response says about the write. */
interface Found {
  readonly document?: string | undefined
  readonly revision?: string | undefined
  readonly count?: number | undefined
}

/** The response to the write of one document has one line. A longer one is not kept. */
const MAX_LINE_BYTES = 8192

/** Calls `record` once, when the response ends or breaks off: the database has written then. */
function readResponse(
  { path: { segments } }: RequestContext,
  { headers, body }: Reply,
  record: (found: Found) => void,
) {
  const named = readHeaders(headers)
  if (body instanceof Uint8Array) return record({ ...named.found, ...readLine([body]) })
  if (!isResponseStream(body) || !body.observe || named.isCoded) return record(named.found)
  if (segments[1] === '_bulk_docs') {
    const rows = createRowCounter()
    // a replication gets rows for failures only
    return body.observe(rows.take, () => record({ count: rows.count() || undefined }))
  }
  const line: Uint8Array[] = []
  let bytes = 0
  const keep = (chunk: Uint8Array) => {
    bytes += chunk.length
    if (bytes <= MAX_LINE_BYTES) line.push(chunk)
  }
  return body.observe(keep, () => record({ ...named.found, ...(bytes <= MAX_LINE_BYTES && readLine(line)) }))
}

/** The headers of the response of an update function. */
function readHeaders(headers: Reply['headers']) {
  const find = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1]
  return {
    isCoded: find('content-encoding') !== undefined,
    found: toFound(find('x-couch-id'), find('x-couch-update-newrev')),
  }
}

function readLine(chunks: readonly Uint8Array[]): Found {
  const reading = readJson(Buffer.concat(chunks).toString())
  if (reading.kind === 'refused' || !isJsonObject(reading.value)) return {}
  return toFound(findMember(reading.value, 'id'), findMember(reading.value, 'rev'))
}

const toFound = (id: unknown, rev: unknown): Found => ({
  ...(typeof id === 'string' && { document: id }),
  ...(typeof rev === 'string' && { revision: rev }),
})
