import { after, before } from 'node:test'
import { describeStore } from '../contract/store.ts'
import { createPostgresPlace } from './places.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

describeStore('PostgreSQL', () => createPostgresPlace(server))
