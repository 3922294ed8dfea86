import { after, before } from 'node:test'
import { createPostgresPlace, createSqlitePlace } from '../../store/places.ts'
import { type PostgresServer, startPostgres } from '../../store/postgres-server.ts'
import { testNodes } from './nodes.ts'

const clearing: (() => Promise<unknown>)[] = []
let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(async () => {
  for (const clear of clearing) await clear()
  await server.stop()
})

testNodes('SQLite', async () => {
  const place = await createSqlitePlace()
  clearing.push(place.remove)
  return place.url
})

testNodes('PostgreSQL', async () => (await createPostgresPlace(server)).url)
