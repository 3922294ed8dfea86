// Password checks through the hasher, and the rules for new passwords, compared with bare crypto.pbkdf2 on all cores.
// Sizes: milliseconds of a round.
import { pbkdf2 } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { createHasher } from '../src/passwords/hasher.ts'
import { findKnownFlaw } from '../src/passwords/known-passwords.ts'
import type { HashParameters } from '../src/passwords/schemes/scheme.ts'
import { ratio } from './figures.ts'
import { contest, countPerSecond, renderNumber } from './support/measure.ts'

const LEAST_SHARE = 0.9
/** Least ratio of the rules for new passwords to a hash: beside it they cost nothing that can be measured. */
const LEAST_RULES = 50
const ITERATIONS = 20_000
const PARAMETERS: HashParameters = { scheme: 'pbkdf2', prf: 'sha256', iterations: ITERATIONS }
const DECOY = { unit: PARAMETERS.prf, amount: ITERATIONS }
/** More callers than checks can run at a time, as when many users sign in. */
const CALLERS = 64

/** One that is accepted, so that all rules are tried. */
const NEW_PASSWORD = 'correct horse battery staple'
const NAME = 'ada.lovelace@example.com'
const BATCH = 100

const derive = promisify(pbkdf2)

function repeat(work: () => void, times: number): void {
  for (let time = 0; time < times; time += 1) work()
}

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
    `core. Goal: at least ${LEAST_SHARE} of its speed. \`auth.password-check\` is done once for a new password, on one core,\n` +
    `beside its hash. Goal: at least ${LEAST_RULES} times as fast.`,
  runs: 7,
  async run(runs, [ms = 1000] = []) {
    const hasher = createHasher({ queue: () => CALLERS })
    const stored = await hasher.hash('the password', PARAMETERS)
    const bare = () => derive('the password', stored.salt, ITERATIONS, 32, 'sha256')
    const check = async () => {
      if (!(await hasher.verify(stored, 'the password', { decoy: DECOY }))) throw new Error('the password was refused')
    }
    const checkNew = () => {
      if (findKnownFlaw(NEW_PASSWORD, [NAME]) !== undefined) throw new Error('the new password was refused')
    }
    const contestants = [
      () => countWith(bare, availableParallelism(), ms),
      () => countWith(check, CALLERS, ms),
      () => countPerSecond(() => repeat(checkNew, BATCH), { ms, batch: BATCH }),
    ]
    const [bareRate, checkRate, rulesRate] = await contest(contestants, runs)
    return {
      columns: ['what', 'a second', 'of the bare function'],
      rows: [
        ['bare `crypto.pbkdf2`', renderNumber(bareRate), ratio(1)],
        ['checks through the hasher', renderNumber(checkRate), ratio(checkRate / bareRate)],
        ['rules for a new password', renderNumber(rulesRate), ratio(rulesRate / bareRate)],
      ],
      isGoalMet: checkRate / bareRate >= LEAST_SHARE && rulesRate / bareRate >= LEAST_RULES,
    }
  },
}
