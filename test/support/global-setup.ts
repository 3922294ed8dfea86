// Runs once, in the process of the test runner: one PostgreSQL for every test file of this run, and the built console.

import { type Postgres, SHARED_POSTGRES, startPostgres } from '../store/postgres-server.ts'
import { buildConsole } from './console.ts'

let postgres: Postgres | undefined

export async function globalSetup(): Promise<void> {
  buildConsole()
  const server = await startPostgres()
  postgres = server
  process.env[SHARED_POSTGRES] = server.addressOf('postgres')
}

export async function globalTeardown(): Promise<void> {
  await postgres?.stop()
}
