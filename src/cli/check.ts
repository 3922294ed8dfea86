import { Command } from 'commander'
import { toPrintable } from '../base/printable.ts'
import type { HealthView } from '../dialects/admin-api/schemas/system.ts'
import type { CheckFlags } from '../modules/module.ts'
import { MODULE_CHECKS } from '../modules.ts'
import { checkConfiguration } from './check-configuration.ts'
import type { AreaFinding } from './check-store.ts'
import { type Context, EXIT, ExitError } from './context.ts'
import { printJson } from './json-output.ts'
import { checkMachine } from './machine-checks.ts'
import type { JsonOption } from './manage.ts'
import { paint } from './table.ts'

/** `cardea check`: `config check`, and whether this machine is ready for the server. */
export function checkCommand(context: Context): Command {
  const command = new Command('check')
    .description(
      'check the configuration and this machine: files, store, certificates, upstream servers, clock; and a running server',
    )
    .option('--json', 'print JSON')
  for (const { flag } of MODULE_CHECKS) if (flag) command.option(...flag)
  return command.action(({ json = false, ...flags }: JsonOption) => check(context, json, flags))
}

async function check(context: Context, json: boolean, flags: CheckFlags): Promise<void> {
  const { settings, warnings, problems, exitCode, storeProblem } = await checkConfiguration(context)
  const findings: readonly AreaFinding[] = [
    ...toFindings('configuration', problems, warnings),
    // invalid settings do not say what to look for on the machine
    ...(exitCode === 0
      ? await checkMachine({ settings, cwd: context.cwd, storeProblem, server: await askServer(context), flags })
      : []),
  ]
  if (json) printJson(context, findings)
  else context.print(findings.map(render).join('\n'))
  const count = findings.filter(({ level }) => level === 'problem').length
  if (count > 0) throw new ExitError(exitCode || EXIT.failed, `Problems: ${count}.`)
}

async function askServer(context: Context): Promise<HealthView | string | undefined> {
  const { findRunning } = await import('./client.ts')
  try {
    return await (await findRunning(context))?.call('health')
  } catch (error) {
    if (error instanceof ExitError) return error.message
    throw error
  }
}

function toFindings(area: string, problems: readonly string[], warnings: readonly string[]): readonly AreaFinding[] {
  if (problems.length + warnings.length === 0) return [{ level: 'ok', area, message: 'no problems' }]
  return [
    ...problems.map((message) => ({ level: 'problem', area, message }) as const),
    ...warnings.map((message) => ({ level: 'warning', area, message }) as const),
  ]
}

const LEVEL_WIDTH = 'problem'.length
const AREA_WIDTH = 'configuration'.length

function render({ level, area, message, advice }: AreaFinding): string {
  const head = `${level.padEnd(LEVEL_WIDTH)}  ${area.padEnd(AREA_WIDTH)}  `
  const lines = [...message.split('\n'), ...(advice === undefined ? [] : [advice])].map(toPrintable)
  return paint(head) + lines.join(`\n${' '.repeat(head.length)}`)
}
