// Runs once, in the process of the test runner: one PostgreSQL, and the built console.
import { SHARED_POSTGRES, startPostgres } from '../store/postgres-server.ts'
import { buildConsole } from './console.ts'

const works: (() => Promise<void>)[] = []

export async function globalSetup(): Promise<void> {
  buildConsole()
  const postgres = await startPostgres()
  works.push(() => postgres.stop())
  process.env[SHARED_POSTGRES] = postgres.addressOf('postgres')
}

export async function globalTeardown(): Promise<void> {
  for (const work of works) await work()
}
