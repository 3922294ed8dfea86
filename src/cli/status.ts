import { Command } from 'commander'
import { toPrintable } from '../base/printable.ts'
import type { HealthView } from '../dialects/admin-api/schemas/system.ts'
import { type Context, commandError } from './context.ts'
import { type ManageOptions, manage, report, withManageOptions } from './manage.ts'
import { renderFacts } from './table.ts'

/** `cardea status`: what a running server says about itself. */
export function statusCommand(context: Context): Command {
  const command = new Command('status').description(
    'ask a running server for its version, listeners, store and state; exits with 1 unless it is ready',
  )
  return withManageOptions(command).action(async (options: ManageOptions) => {
    const health = await manage(context, options, (control) => control.call('health'), { needsServer: true })
    report(context, options, health, () => renderHealth(health))
    if (!health.isReady) throw commandError('The server is not ready.')
  })
}

function renderHealth(health: HealthView): string {
  const facts = renderFacts([
    ['server', `${health.product} ${health.version}`],
    ['node', health.node],
    ['process', `${health.pid}, since ${toTime(health.startedAt)}`],
    ...renderProcesses(health),
    ['listening', health.listening.join(', ') || 'nowhere'],
    ['store', `${health.store}, ${renderAge(health)}`],
    ['state', health.isReady ? 'ready' : 'not ready'],
    ...health.parts.map(({ name, state, problem }) => [`  ${name}`, problem ? `${state}: ${problem}` : state] as const),
    ['restart needed for', health.needRestart.join(', ') || 'nothing'],
  ])
  const findings = health.upstreams.flatMap(({ findings }) =>
    findings.map(({ upstream, reason, check }) => `${upstream}: ${reason} ${check}`),
  )
  return [facts, ...[...findings, ...health.warnings].map((warning) => `warning: ${toPrintable(warning)}`)].join('\n')
}

/** One line for each worker; none for a server of one process. */
const renderProcesses = ({ processes }: HealthView) =>
  processes.length === 1
    ? []
    : processes.map(
        ({ place, pid, startedAt, memoryBytes, lagMs }) =>
          [
            `  worker ${place}`,
            `${pid}, since ${toTime(startedAt)}, ${toMebibytes(memoryBytes)} MiB, lag ${lagMs} ms`,
          ] as const,
      )

const toTime = (seconds: number): string => new Date(seconds * 1000).toISOString()
const toMebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20)

/** Up to here a node counts as up to date: nodes follow each other within a second. */
const RECENT_MS = 2000

/** A store that fails now may have been read a moment ago. */
function renderAge({ parts, stalenessMs }: HealthView): string {
  const isWorking = parts.every(({ name, isWorking }) => name !== 'store' || isWorking)
  return isWorking && stalenessMs <= RECENT_MS ? 'up to date' : `last read ${Math.round(stalenessMs / 1000)} s ago`
}
