// Password checks through the hasher, compared with bare crypto.pbkdf2 on all cores. Sizes: milliseconds of a round.
import { pbkdf2 } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { createHasher } from '../src/passwords/hasher.ts'
import type { HashParameters } from '../src/passwords/schemes/scheme.ts'
import { ratio } from './figures.ts'
import { contest, renderNumber } from './support/measure.ts'

const LEAST_SHARE = 0.9
const ITERATIONS = 20_000
const PARAMETERS: HashParameters = { scheme: 'pbkdf2', prf: 'sha256', iterations: ITERATIONS }
const DECOY = { unit: PARAMETERS.prf, amount: ITERATIONS }
/** More callers than checks can run at a time, as when many users sign in. */
const CALLERS = 64

const derive = promisify(pbkdf2)

/** Calls per second of this many callers, each of which starts its next call when the last is done. */
async function countWith(work, callers, ms) {
  const startMs = performance.now()
  let done = 0
  const call = async () => {
    while (performance.now() - startMs < ms) {
      await work()
      done += 1
    }
  }
  await Promise.all(Array.from({ length: callers }, call))
  return (done * 1000) / (performance.now() - startMs)
}

export const bench = {
  title: 'Passwords',
  about:
    `Checks of PBKDF2 passwords with ${renderNumber(ITERATIONS)} iterations, compared with \`crypto.pbkdf2\` and one call per\n` +
    `core. Goal: at least ${LEAST_SHARE} of its speed.`,
  runs: 7,
  async run(runs, [ms = 1000] = []) {
    const hasher = createHasher({ queue: () => CALLERS })
    const stored = await hasher.hash('the password', PARAMETERS)
    const bare = () => derive('the password', stored.salt, ITERATIONS, 32, 'sha256')
    const check = async () => {
      if (!(await hasher.verify(stored, 'the password', { decoy: DECOY }))) throw new Error('the password was refused')
    }
    const contestants = [() => countWith(bare, availableParallelism(), ms), () => countWith(check, CALLERS, ms)]
    const [bareRate, checkRate] = await contest(contestants, runs)
    return {
      columns: ['what', 'a second', 'of the bare function'],
      rows: [
        ['bare `crypto.pbkdf2`', renderNumber(bareRate), ratio(1)],
        ['checks through the hasher', renderNumber(checkRate), ratio(checkRate / bareRate)],
      ],
      isGoalMet: checkRate / bareRate >= LEAST_SHARE,
    }
  },
}
