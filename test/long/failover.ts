// Loses, replaces or splits the store of nodes that are used, and checks what they acknowledged and decided:
//   npm run test:long -- failover [--seconds N] [--form NAME] [--sabotage mark]
// `--sabotage` runs it with a deliberate bug, which must be found.
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { FORMS, type FormName, type Outcome } from './failover/forms.ts'
import { toEnvironment } from './soak/sabotage.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    form: { type: 'string' },
    sabotage: { type: 'string' },
  },
})

/** On an idle machine, every node acknowledges changes again within this time after the store can be used. */
const MAX_SERVED_MS = 5000

export function renderOutcome(name: string, outcome: Outcome): string {
  const { changes, decisions, lost, lostLater, unexplained, defects, servedAfterMs } = outcome
  return [
    `${name}: ${changes} changes, ${decisions} decisions`,
    `acknowledged and lost ${lost} (later ${lostLater})`,
    `not explained ${unexplained.length}`,
    `server errors ${defects.length}`,
    `served again after ${Math.round(servedAfterMs)} ms`,
  ].join(', ')
}

async function runForm(name: FormName, clockMs: number): Promise<boolean> {
  const works: (() => unknown)[] = []
  const scope = { after: (work: () => unknown) => void works.unshift(work) }
  try {
    const outcome = await FORMS[name](scope, { ms: Number(values.seconds) * 1000, clockMs })
    console.log(renderOutcome(clockMs === 0 ? name : `${name}, clock ${clockMs / 1000} s`, outcome))
    for (const each of outcome.unexplained.slice(0, 5)) console.log('  ', JSON.stringify(each))
    const mayLose = !name.startsWith('synchronous')
    const { lost, lostLater, unexplained, defects, servedAfterMs } = outcome
    if (servedAfterMs > MAX_SERVED_MS) return false
    return (mayLose || lost === 0) && lostLater + unexplained.length + defects.length === 0
  } finally {
    for (const work of works) await work()
  }
}

if (values.sabotage !== undefined && process.env['NODE_OPTIONS'] === undefined) {
  const env = { ...process.env, ...toEnvironment(values.sabotage) }
  const { status } = spawnSync(process.execPath, process.argv.slice(1), { env, stdio: 'inherit' })
  process.exit(status ?? 1)
}
// a name may be left out, or be a part of one
const names = (Object.keys(FORMS) as FormName[]).filter((name) => name.includes(values.form ?? ''))
for (const name of names)
  for (const clockMs of values.sabotage === undefined ? [0, -600_000, 600_000] : [0])
    if (!(await runForm(name, clockMs))) process.exitCode = 1
