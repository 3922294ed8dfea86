import { Command } from 'commander'
import type { Health } from '../dialects/admin-api/schemas/system.ts'
import type { Context } from './context.ts'
import { type ManageOptions, perform, withExitCodes, withManageOptions } from './manage.ts'
import { renderFacts, toPrintable } from './table.ts'

/** `cardea status`: what a running server says about itself. */
export function statusCommand(context: Context): Command {
  const command = new Command('status').description('ask a running server for its version, listeners, store and state')
  return withExitCodes(withManageOptions(command)).action((options: ManageOptions) =>
    perform(context, options, (control) => control.call('health'), { needsServer: true, render: renderHealth }),
  )
}

/** Up to here a node counts as up to date: nodes follow each other within a second. */
const RECENT_MS = 2000

function renderHealth(health: Health): string {
  const isRecent = health.stalenessMs <= RECENT_MS
  const age = isRecent ? 'up to date' : `last read ${Math.round(health.stalenessMs / 1000)} s ago`
  const facts = renderFacts([
    ['server', `${health.product} ${health.version}`],
    ['node', health.node],
    ['process', `${health.pid}, since ${new Date(health.startedAt * 1000).toISOString()}`],
    ['listening', health.listening.join(', ') || 'nowhere'],
    ['store', `${health.store}, ${age}`],
    ['state', health.isReady ? 'ready' : 'not ready'],
    ...health.parts.map(({ name, problem }) => [`  ${name}`, problem === null ? 'ok' : `failed: ${problem}`] as const),
    ['restart needed for', health.needRestart.join(', ') || 'nothing'],
  ])
  const findings = health.upstreams.flatMap(({ findings }) =>
    findings.map(({ upstream, reason, check }) => `${upstream}: ${reason} ${check}`),
  )
  return [facts, ...[...findings, ...health.warnings].map((warning) => `warning: ${toPrintable(warning)}`)].join('\n')
}
