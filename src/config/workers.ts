import { availableParallelism } from 'node:os'
import { isStoreInMemory } from './addresses.ts'
import type { Config } from './options.ts'

const MAX_AUTO_WORKERS = 8

/** How many processes serve. A store in memory is that of one process. */
export const countWorkers = ({ server: { workers }, store: { url } }: Config): number =>
  workers === 'auto' ? Math.min(availableParallelism(), isStoreInMemory(url) ? 1 : MAX_AUTO_WORKERS) : Number(workers)
