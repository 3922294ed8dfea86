// A CouchDB and an ArangoDB as far as the page Databases needs them: names of databases, and `_security`.
import type { Scope } from './scope.ts'
import type { AnyOptions } from './server.ts'
import { type Backend, beforeDocument, beforeMultiModel, openBackend } from './upstream.ts'

export interface FakeDatabases {
  readonly couchdb: Backend
  readonly arangodb: Backend
  /** `_security` of each database of CouchDB. `undefined`: the connection breaks before the response. */
  readonly securities: Map<string, unknown>
  /** Of a server with both as its upstreams. */
  readonly options: AnyOptions
}

export async function openDatabases(scope: Scope, names: readonly string[]): Promise<FakeDatabases> {
  const securities = new Map<string, unknown>(names.map((name) => [name, { members: { roles: ['_admin'] } }]))
  const couchdb = await openBackend(scope, (request, response, body) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://couchdb')
    const [, name = '', action] = pathname.split('/').map(decodeURIComponent)
    const reply = (status: number, value: unknown) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
    if (name === '_all_dbs') {
      const [from, to] = [
        JSON.parse(searchParams.get('start_key') ?? '""'),
        JSON.parse(searchParams.get('end_key') ?? '""'),
      ]
      const all = [...securities.keys()].toSorted().filter((each) => each >= from && each <= to)
      return reply(200, all.slice(0, Number(searchParams.get('limit'))))
    }
    if (action !== '_security' || !securities.has(name)) return reply(404, { error: 'not_found' })
    if (request.method === 'PUT') securities.set(name, JSON.parse(body.toString()))
    if (securities.get(name) === undefined) return response.destroy()
    return reply(200, request.method === 'PUT' ? { ok: true } : securities.get(name))
  })
  const arangodb = await openBackend(scope, (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify({ result: ['_system', 'shop'] }))
  })
  const upstream = {
    ...(beforeDocument(couchdb.url)['upstream'] as object),
    ...(beforeMultiModel(scope, arangodb.url)['upstream'] as object),
  }
  return { couchdb, arangodb, securities, options: { upstream } }
}
