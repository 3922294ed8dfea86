import { Command, Option } from 'commander'
import type { OperationResult } from '../dialects/admin-api/operations.ts'
import { FORMAT_NAMES, type FormatName } from '../transfer/format-names.ts'
import { FORMATS } from '../transfer/formats.ts'
import { type Loss, REPORTED_LOSSES, type WrittenSetting } from '../transfer/records.ts'
import type { Control } from './client.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { type ManageOptions, manage, withExitCodes, withManageOptions } from './manage.ts'
import { readIdPrefix } from './own-settings.ts'
import { renderAdministrators } from './transfer/administrators.ts'
import { type Output, openOutput } from './transfer/output.ts'
import { createProgress, type Progress, renderCount } from './transfer/progress.ts'
import { createJsonReport, createTextReport, type Report } from './transfer/report.ts'

interface ExportOptions extends ManageOptions {
  readonly to: FormatName
  readonly admins?: string
}

interface ExportSummary {
  readonly users: number
  readonly settings: number
  /** By kind of loss, how many users it affects. */
  readonly losses: Readonly<Record<string, number>>
  /** Users that are not exported because their records are damaged. */
  readonly damaged: readonly string[]
}

interface Work {
  readonly options: ExportOptions
  readonly idPrefix: string
  readonly progress: Progress
  readonly report: Report<ExportSummary>
}

/** `cardea export`: all users, in a form that Cardea or one of the databases reads. */
export function exportCommand(context: Context): Command {
  const command = new Command('export')
    .description('write all users, administrators and run-time settings to a file or standard output')
    .argument('[file]', 'made for its owner alone; standard output unless given')
    .addOption(new Option('--to <form>', 'cardea loses nothing').choices(FORMAT_NAMES).default('cardea'))
    .option('--admins <file>', 'with --to document: the [admins] section for a configuration file')
  return withExitCodes(withManageOptions(command)).action((file: string | undefined, options: ExportOptions) =>
    runExport(context, file, options),
  )
}

async function runExport(context: Context, file: string | undefined, options: ExportOptions): Promise<void> {
  requireFit(file, options)
  const progress = createProgress({ what: 'exporting', screen: process.stderr, nowMs: () => performance.now() })
  // without a file, standard output is for the users
  const print = file === undefined ? context.printError : context.print
  const report: Report<ExportSummary> = options.json
    ? createJsonReport((text) => void process.stdout.write(text))
    : createTextReport({ print, progress, render: renderSummary })
  const work: Work = { options, idPrefix: readIdPrefix(context), progress, report }
  await manage(context, options, async (control) => {
    const summary = await writeWhole(openOutput(context, file), (output) => exportUsers(control, output, work))
    if (options.admins !== undefined) await exportAdmins(control, openOutput(context, options.admins), work)
    report.end(summary)
    requireIntact(summary)
  })
}

function requireFit(file: string | undefined, { json, admins, to }: ExportOptions): void {
  if (json && file === undefined)
    throw new ExitError(EXIT.usage, '--json prints a report of the export: give a file for the users.')
  if (admins !== undefined && to !== 'document') throw new ExitError(EXIT.usage, '--admins needs --to document.')
}

/** Removes an output that could not be completed. */
async function writeWhole<T>(output: Output, work: (output: Output) => Promise<T>): Promise<T> {
  try {
    const result = await work(output)
    await output.finish()
    return result
  } catch (error) {
    output.discard()
    throw error
  }
}

const MAX_NAMED = 20

/** The output is kept: the other users may be needed all the more. */
function requireIntact({ damaged }: ExportSummary): void {
  if (damaged.length === 0) return
  const named = damaged.slice(0, MAX_NAMED).map((name) => JSON.stringify(name))
  const more = damaged.length > MAX_NAMED ? `, and ${damaged.length - MAX_NAMED} more` : ''
  throw new ExitError(
    EXIT.failed,
    `The records of these users are damaged, and not in the export: ${named.join(', ')}${more}. Restore an earlier backup.`,
  )
}

const PAGE = 200

async function exportUsers(control: Control, output: Output, work: Work): Promise<ExportSummary> {
  const { options, idPrefix, progress } = work
  const { users: total } = await control.call('transfer.count')
  const { administrators } = await control.call('transfer.administrators')
  const settings = options.to === 'cardea' ? await readSettings(control, work.report) : []
  const writer = FORMATS[options.to].createWriter({ idPrefix, administrators, settings })
  const losses = new Map<Loss, number>()
  const damaged: string[] = []
  let records = 0
  await output.write(writer.head)
  for await (const { users, ...page } of readPages(control, options.to, idPrefix)) {
    damaged.push(...(page.damaged ?? []))
    for (const user of users) reportLosses(user, losses, work.report)
    const text = users.map((user) => user.text).join(writer.separator)
    if (users.length > 0) await output.write(`${records > 0 ? writer.separator : ''}${text}`)
    records += users.length
    progress.update({ done: records, total, records })
  }
  await output.write(writer.tail(records))
  return { users: records, settings: settings.length, losses: Object.fromEntries(losses), damaged }
}

/** Settings made at run time. A server elsewhere does not send secrets. */
async function readSettings(control: Control, report: Work['report']): Promise<readonly WrittenSetting[]> {
  const { settings } = await control.call('transfer.settings')
  return settings.flatMap(({ section, key, text }) => {
    if (text !== undefined) return [{ section, key, text }]
    const reason = 'A secret setting is exported only on the machine of the server, without --url.'
    report.add({ kind: 'note', id: `${section}.${key}`, reason })
    return []
  })
}

type Exported = OperationResult<'transfer.export'>['users'][number]

/** Reports losses that change how a user signs in, and counts all. */
function reportLosses({ name: id, losses }: Exported, counts: Map<Loss, number>, report: Work['report']): void {
  for (const loss of losses) {
    counts.set(loss, (counts.get(loss) ?? 0) + 1)
    const reason = REPORTED_LOSSES.get(loss)
    if (reason !== undefined) report.add({ kind: 'note', id, reason })
  }
}

async function* readPages(
  control: Control,
  format: FormatName,
  idPrefix: string,
): AsyncGenerator<OperationResult<'transfer.export'>> {
  const query = { format, 'id-prefix': idPrefix, limit: String(PAGE) }
  let after: string | undefined
  do {
    const page = await control.call('transfer.export', { query: after === undefined ? query : { ...query, after } })
    yield page
    after = page.next
  } while (after !== undefined)
}

async function exportAdmins(control: Control, output: Output, { report }: Work): Promise<void> {
  const { administrators } = await control.call('transfer.administrators')
  const { text, lost } = renderAdministrators(administrators)
  await writeWhole(output, () => output.write(text))
  for (const id of lost)
    report.add({ kind: 'note', id, reason: 'A configuration file cannot contain this administrator.' })
}

function renderSummary({ users, settings, losses }: ExportSummary): string {
  const lost = Object.entries(losses).map(([loss, count]) => `${loss.replaceAll('_', ' ')} of ${renderCount(count)}`)
  return [
    `Exported ${renderCount(users)} users.`,
    ...(settings > 0 ? [`Exported ${renderCount(settings)} run-time settings.`] : []),
    ...(lost.length > 0 ? [`Not exported, because the format cannot contain them: ${lost.join(', ')}.`] : []),
  ].join('\n')
}
