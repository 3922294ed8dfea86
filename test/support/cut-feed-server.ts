/** As much of a document database as a copy of its users needs. A reply can be cut at any byte. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Scope } from './scope.ts'
import { toId } from './users-in-couchdb.ts'

interface Revision {
  readonly rev: string
  /** Left out: it is a deletion. */
  readonly members?: object
}

type Document = Readonly<Record<string, unknown>>

/** A reply to cut. */
export interface Cut {
  readonly method: 'GET' | 'PUT'
  readonly path: RegExp
  /** How many replies of the kind are sent whole before it. */
  readonly passed?: number
}

/** `whole`: it has not so many bytes. */
type CutState = 'waiting' | 'cut' | 'whole'

interface Reply {
  readonly status: number
  readonly body: object
  readonly isFeed?: boolean
}

export async function openCutFeedServer(scope: Scope) {
  const users = createUsers()
  let next: { readonly cut: Cut; readonly bytes: number; passed: number; state: CutState } | undefined
  const cutReply = ({ method, url = '' }: IncomingMessage, { socket }: ServerResponse, reply: Reply): boolean => {
    if (next?.state !== 'waiting' || next.cut.method !== method || !next.cut.path.test(url)) return false
    next.passed += 1
    if (next.passed <= (next.cut.passed ?? 0)) return false
    const text = renderReply(reply)
    next.state = next.bytes < text.length ? 'cut' : 'whole'
    if (next.state === 'cut') socket?.end(text.slice(0, next.bytes))
    return next.state === 'cut'
  }
  const server = createServer(async (request, response) => {
    const reply = users.handle(request, request.method === 'PUT' ? ((await json(request)) as Document) : undefined)
    if (cutReply(request, response, reply)) return
    response.writeHead(reply.status, { 'Content-Type': 'application/json' }).end(JSON.stringify(reply.body))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  scope.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    users,
    /** Cuts the next reply of this kind after so many bytes. The function says whether it did. */
    cutNext(cut: Cut, bytes: number): () => CutState {
      const own = { cut, bytes, passed: 0, state: 'waiting' as CutState }
      next = own
      return () => own.state
    },
  }
}

/** As CouchDB sends it: changes in chunks, all else with its length. */
function renderReply({ status, body, isFeed }: Reply): string {
  const text = JSON.stringify(body)
  const head = `HTTP/1.1 ${status} OK\r\nContent-Type: application/json\r\n`
  if (!isFeed) return `${head}Content-Length: ${text.length}\r\n\r\n${text}`
  const chunks = text.split(/(?<=\},)/).map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  return `${head}Transfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`
}

const MISSING: Reply = { status: 404, body: { error: 'not_found', reason: 'missing' } }
const CONFLICT: Reply = { status: 409, body: { error: 'conflict', reason: 'Document update conflict.' } }

/** The users, with each state that they ever had. */
function createUsers() {
  const documents = new Map<string, readonly [Revision, ...Revision[]]>()
  const locals = new Map<string, Document>()
  /** The sequence of the last change of each document, in their order. */
  const changes = new Map<string, number>()
  const listUsers = (): readonly Document[] =>
    [...documents].flatMap(([id, [{ rev, members }]]) => (members ? { _id: id, _rev: rev, ...members } : []))
  const states: (readonly Document[])[] = [[]]
  const limits = { rows: 10 }
  /** Without members: deletes the document. */
  const write = (id: string, members?: object): string => {
    const before = documents.get(id) ?? []
    const seq = states.length
    changes.delete(id)
    changes.set(id, seq)
    const rev = `${Number.parseInt(before[0]?.rev ?? '0', 10) + 1}-${String(seq).padStart(32, '0')}`
    documents.set(id, [{ rev, ...(members && { members }) }, ...before.slice(0, 2)])
    states.push(listUsers())
    return rev
  }
  const readChanges = (since: number) => {
    const newest = [...changes].filter(([, seq]) => seq > since)
    const page = newest.slice(0, limits.rows)
    const results = page.map(([id, seq]) => {
      const [{ rev, members = { _deleted: true } }] = documents.get(id) ?? [{ rev: '' }]
      const deleted = '_deleted' in members
      return { seq, id, changes: [{ rev }], ...(deleted && { deleted }), doc: { _id: id, _rev: rev, ...members } }
    })
    return { results, last_seq: page.at(-1)?.[1] ?? since, pending: newest.length - page.length }
  }
  const findDocument = (id: string): Reply => {
    const revisions = documents.get(id) ?? []
    if (!revisions[0]?.members) return MISSING
    const _revs_info = revisions.map(({ rev, members }) => ({ rev, status: members ? 'available' : 'deleted' }))
    return { status: 200, body: { _id: id, _rev: revisions[0].rev, ...revisions[0].members, _revs_info } }
  }
  const putLocal = (path: string, body: Document): Reply => {
    if (locals.get(path)?.['_rev'] !== body['_rev']) return CONFLICT
    const rev = `0-${Number(String(body['_rev'] ?? '0-0').slice(2)) + 1}`
    locals.set(path, { ...body, _rev: rev })
    return { status: 201, body: { ok: true, rev } }
  }
  const putDocument = (id: string, { _id, _rev, ...members }: Document): Reply => {
    const [current] = documents.get(id) ?? []
    if ((current?.members && current.rev) !== _rev) return CONFLICT
    return { status: 201, body: { ok: true, id, rev: write(id, members['_deleted'] ? undefined : members) } }
  }
  return {
    states,
    limits,
    change: (name: string, members?: object) => write(toId(name), members && { type: 'user', name, ...members }),
    handle({ url = '' }: IncomingMessage, body: Document | undefined): Reply {
      const { pathname, searchParams } = new URL(url, 'http://localhost')
      const path = decodeURIComponent(pathname.slice('/_users/'.length))
      if (path === '_changes')
        return { status: 200, body: readChanges(Number(searchParams.get('since'))), isFeed: true }
      const isLocal = path.startsWith('_local/')
      if (body) return isLocal ? putLocal(path, body) : putDocument(path, body)
      if (!isLocal) return findDocument(path)
      const found = locals.get(path)
      return found ? { status: 200, body: found } : MISSING
    },
  }
}
