import { readdirSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { attempt } from '../errors.ts'

const THREADS = '/proc/self/task'
const NICE = 10

/**
 * Lets requests go before password hashes while all processors are busy: the threads that Node hashes on get the nice
 * value 10. Without it, 100 connections that send passwords delay one request in a hundred of other clients by 220 to 300
 * ms on two cores, with it by 60 to 70 ms (`node test/long/attacks/pipelining.ts --ways bodies`, beside other work).
 *
 * To be called when Node has started these threads. Returns how many there are; 0 where the system does not name them.
 */
export function lowerPoolPriority(): number {
  const threads = listPoolThreads()
  // a thread may have ended meanwhile
  for (const thread of threads) attempt(() => setPriority(thread, NICE))
  return threads.length
}

function listPoolThreads(): number[] {
  const isOfPool = (id: string) => readFileSync(`${THREADS}/${id}/comm`, 'latin1') === 'libuv-worker\n'
  return attempt(() => readdirSync(THREADS).filter(isOfPool).map(Number)) ?? []
}
