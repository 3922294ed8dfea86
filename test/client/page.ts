// The page of the tests in a browser: an application in a browser, with live replications and feeds through
// Cardea.
import http from 'pouchdb-adapter-http'
import PouchDB from 'pouchdb-core'
import replication from 'pouchdb-replication'
import { createClient } from '../../client/src/index.ts'

PouchDB.plugin(http).plugin(replication)

declare const location: URL

const isToken = new URL(location.href).searchParams.get('credential') === 'token'
const client = createClient({ url: '/', ...(isToken && { credential: 'token', storage: localStorage }) })
const log: string[] = []
client.onChange((change, session) => log.push(`${change} ${session?.name ?? ''}`.trim()))

const open = (name: string) => new PouchDB(`${client.url}${name}`, { fetch: client.fetch, skip_setup: true })

function replicate(from: string, to: string): void {
  const live = PouchDB.replicate(open(from), open(to), { live: true, retry: true, batch_size: 5 })
  live.on('error', ({ name }: { name: string }) => log.push(`replication ended: ${name}`))
}

function watch(name: string): void {
  const feed = open(name).changes({ live: true })
  feed.on('change', ({ id }: { id: string }) => log.push(`${name}: ${id}`))
  feed.on('error', (error: { name: string }) => log.push(`${name} ended: ${error.name}`))
}

Object.assign(globalThis, { app: { ...client, log, replicate, watch, createClient } })
