// Mixed load on both doors of the nodes, with faults chosen by a seed, and invariants checked all along: no revoked
// credential is accepted, no wrong one either, no acknowledged write is lost, memory stays flat.
//   npm run test:long -- soak [--minutes N] [--seed N] [--actors N] [--sabotage revocation | password | write]
//     [--workers N] [--engine postgres | sqlite] [--clocks]
// `--clocks`: the clocks of the nodes differ by up to ten minutes, and jump.
// With SQLite there is one node, without workers each has one thread.
// The same seed makes the same choices. `--sabotage` runs it with a deliberate bug, which must be found.

import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { History } from '../support/history.ts'
import { Actor } from './soak/actor.ts'
import { listFaults } from './soak/faults.ts'
import { createLedger } from './soak/ledger.ts'
import { watchMemory } from './soak/memory.ts'
import { createRandom } from './soak/random.ts'
import { renderReport } from './soak/report.ts'
import { SABOTAGE_NAMES } from './soak/sabotage.ts'
import { GRACE_MS, openTestbed } from './soak/testbed.ts'

const PROGRESS_MS = 5000

async function runActor(actor, random, isOver) {
  while (!isOver()) {
    await actor.act()
    await pause(random.below(20))
  }
}

async function runFaults(testbed, { given, random, ledger, isOver }) {
  const faults = listFaults(given)
  while (!isOver()) {
    await pause(random.between(200, 2000))
    if (isOver()) return
    const fault = random.pick(faults)
    ledger.count(`fault ${fault.name}`)
    await inject(fault, testbed, { random, ledger })
  }
}

/** A fault that cannot be repaired is a violation too. */
async function inject(fault, testbed, { random, ledger }) {
  testbed.fault = fault.name
  try {
    await fault.run(testbed, random)
  } catch (error) {
    ledger.violate('not repaired', `${fault.name}: ${error instanceof Error ? error.message : error}`)
  } finally {
    testbed.fault = undefined
  }
}

function showProgress(ledger, { testbed, startedAt, untilMs, print }) {
  const show = () => {
    const [passed, all] = [Date.now() - startedAt, untilMs - startedAt].map((ms) => Math.round(ms / 1000))
    const faults = ledger.list('fault ').reduce((sum, [, number]) => sum + number, 0)
    const found = ledger.violations.length
    const now = testbed.fault ? `, now: ${testbed.fault}` : ''
    print(`${passed} of ${all} s: ${ledger.get('requests')} requests, ${faults} faults, ${found} violations${now}`)
  }
  const timer = setInterval(show, PROGRESS_MS)
  return () => clearInterval(timer)
}

/** Runs until the time is over, `signal` is aborted, or with `stopsAtViolation` until the first violation. */
export async function runSoak(given) {
  const { ms, seed, actors: count = 12, leastFaults = 0, stopsAtViolation = false, print = () => {} } = given
  const ledger = createLedger()
  const history = new History()
  const random = createRandom(seed)
  const testbed = await openTestbed(given)
  const startedAt = Date.now()
  const untilMs = startedAt + ms
  const isStopped = () => given.signal?.aborted || (stopsAtViolation && ledger.violations.length > 0)
  const isOver = () => isStopped() || isTimeOver(ledger, { untilMs, leastFaults })
  const stopProgress = showProgress(ledger, { testbed, startedAt, untilMs, print })
  try {
    const stopMemory = watchMemory(testbed.nodes.at(-1))
    const faultRandom = random.fork()
    const actors = Array.from({ length: count }, (_, i) => {
      const own = random.fork()
      return { own, actor: new Actor(`user-${i + 1}`, { testbed, ledger, history, random: own, graceMs: GRACE_MS }) }
    })
    const load = actors.map(({ own, actor }) => runActor(actor, own, isOver))
    const faults = given.hasFaults === false ? [] : [runFaults(testbed, { given, random: faultRandom, ledger, isOver })]
    await Promise.all([...load, ...faults])
    const memory = stopMemory()
    // a run that was stopped early is judged by what it has found so far
    if (!isStopped()) await verifyAtTheEnd(testbed, { actors, ledger })
    for (const found of history.check(GRACE_MS)) ledger.violate('decision not explained', JSON.stringify(found))
    ledger.count('decisions explained', history.decisions.length)
    return judge({ ledger, memory, seed, ms: Date.now() - startedAt })
  } finally {
    stopProgress()
    await testbed.close()
  }
}

/** Waits until every node must know every change, then checks everything once more. */
async function verifyAtTheEnd({ nodes }, { actors, ledger }) {
  await pause(GRACE_MS)
  for (const { actor } of actors) await actor.verify()
  for (const node of nodes) {
    const crash = node.findCrash()
    if (crash) ledger.violate('process ended', crash)
  }
}

/** What a run must have done at least once: otherwise its result means nothing. */
const NEEDED = [
  'signed in',
  'credentials accepted',
  'revoked credentials tried',
  'forged credentials tried',
  'writes acknowledged',
]

/** A short run on a busy machine gets more time, until it has tested everything. */
function isTimeOver(ledger, { untilMs, leastFaults }) {
  const late = Date.now() - untilMs
  if (late < 0 || late > MAX_OVERTIME_MS) return late > 0
  return NEEDED.every((name) => ledger.get(name) > 0) && ledger.list('fault ').length >= leastFaults
}

const MAX_OVERTIME_MS = 300_000

function judge({ ledger, memory, seed, ms }) {
  if (!memory.isFlat) ledger.violate('memory grows', `${memory.early} bytes early, ${memory.late} late`)
  const missing = NEEDED.filter((name) => ledger.get(name) === 0)
  if (missing.length > 0) ledger.violate('nothing was tested', missing.join(', '))
  return { ledger, memory, seed, ms, violations: ledger.violations }
}

const OPTIONS = {
  minutes: { type: 'string', default: '10' },
  seed: { type: 'string' },
  actors: { type: 'string', default: '12' },
  sabotage: { type: 'string' },
  workers: { type: 'string', default: '1' },
  engine: { type: 'string', default: 'postgres' },
  clocks: { type: 'boolean', default: false },
} as const

const ENGINES = ['postgres', 'sqlite']

function readArguments() {
  const { values } = parseArgs({ options: OPTIONS })
  const seed = Number(values.seed ?? Date.now() % 2 ** 32)
  const { sabotage, engine } = values
  const [minutes, actors, workers] = [values.minutes, values.actors, values.workers].map(Number)
  const isUnknown = (sabotage !== undefined && !SABOTAGE_NAMES.includes(sabotage)) || !ENGINES.includes(engine)
  if (!(minutes > 0) || !(workers > 0) || !(actors > 0) || !Number.isSafeInteger(seed) || isUnknown) {
    console.error(
      `usage: npm run test:long -- soak [--minutes N] [--seed N] [--actors N] [--workers N] [--engine ${ENGINES.join('|')}] [--clocks] [--sabotage ${SABOTAGE_NAMES.join('|')}]`,
    )
    process.exit(2)
  }
  return { ms: minutes * 60_000, seed, actors, workers, sabotage, engine, hasClocks: values.clocks }
}

if (import.meta.main) {
  const given = readArguments()
  console.log(`seed ${given.seed}: repeat with --seed ${given.seed}`)
  // Ctrl-C ends the run early: what was started is stopped, and the report is printed
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())
  const result = await runSoak({ ...given, print: console.log, signal: stop.signal })
  console.log(renderReport(result))
  process.exitCode = result.violations.length === 0 ? 0 : 1
}
