import { once } from 'node:events'
import { statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { Command, Option } from 'commander'
import { openNewStream, replaceByWriting } from '../base/files.ts'
import type { OperationResult } from '../dialects/admin-api/operations.ts'
import type { Administrator } from '../directory/administrator-operations.ts'
import { FORMAT_NAMES, type FormatName } from '../transfer/format-names.ts'
import { FORMATS } from '../transfer/formats.ts'
import { type Loss, REPORTED_LOSSES } from '../transfer/losses.ts'
import type { WrittenSetting } from '../transfer/records.ts'
import type { Control } from './client.ts'
import { type Context, commandError, usageError } from './context.ts'
import { listPages, type ManageOptions, manage, withManageOptions } from './manage.ts'
import { readIdPrefix } from './own-settings.ts'
import { renderNames } from './table.ts'
import { renderAdministrators } from './transfer/administrators.ts'
import { renderCount } from './transfer/progress.ts'
import { createReport, type Report } from './transfer/report.ts'

interface ExportOptions extends ManageOptions {
  readonly to: FormatName
  readonly admins?: string
}

interface ExportSummary {
  users: number
  settings: number
  /** By kind of loss, how many users it affects. */
  readonly losses: Partial<Record<Loss, number>>
  /** Users that are not exported because their records are damaged. */
  readonly damaged: string[]
}

interface Work {
  readonly control: Control
  readonly format: FormatName
  readonly idPrefix: string
  readonly report: Report<ExportSummary>
  /** Grows with the output. */
  readonly summary: ExportSummary
}

/** `cardea export`: all users, in a form that Cardea or one of the databases reads. */
export function exportCommand(context: Context): Command {
  const command = new Command('export')
    .description('write all users, administrators and run-time settings to a file or standard output')
    .argument('[file]', 'made for its owner alone; standard output unless given')
    .addOption(new Option('--to <form>', 'cardea loses nothing').choices(FORMAT_NAMES).default('cardea'))
    .option('--admins <file>', 'with --to document: the [admins] section for a configuration file')
  return withManageOptions(command).action((file: string | undefined, options: ExportOptions) =>
    runExport(context, file, options),
  )
}

async function runExport(context: Context, file: string | undefined, options: ExportOptions): Promise<void> {
  const { json, admins, to } = options
  if (json && file === undefined) throw usageError('--json prints a report of the export: give a file for the users.')
  if (admins !== undefined && to !== 'document') throw usageError('--admins needs --to document.')
  // without a file, standard output is for the users
  const print = file === undefined ? context.printError : context.print
  const report = createReport('exporting', options.json ?? false, print, renderSummary)
  const summary: ExportSummary = { users: 0, settings: 0, losses: {}, damaged: [] }
  const idPrefix = readIdPrefix(context)
  await manage(context, options, async (control) => {
    const { administrators } = await control.call('transfer.administrators')
    const work = { control, format: options.to, idPrefix, report, summary }
    await writeOutput(context, file, renderFile(work, administrators))
    if (options.admins !== undefined) {
      const { text, lost } = renderAdministrators(administrators)
      await writeOutput(context, options.admins, [text])
      for (const id of lost)
        report.add({ kind: 'note', id, reason: 'A configuration file cannot contain this administrator.' })
    }
    report.end(summary)
    requireIntact(summary)
  })
}

/** The output is kept: the other users may be needed all the more. */
function requireIntact({ damaged }: ExportSummary): void {
  if (damaged.length === 0) return
  const names = renderNames(damaged)
  throw commandError(
    `The records of these users are damaged, and not in the export: ${names}. Restore an earlier backup.`,
  )
}

/** The text of the whole file, some users at a time. */
async function* renderFile(work: Work, administrators: readonly Administrator[]): AsyncGenerator<string> {
  const { control, report, summary, format } = work
  const { head, separator, renderTail, holdsSettings } = FORMATS[format]
  const { users: total } = await control.call('transfer.count')
  const settings = holdsSettings ? await loadSettings(control, report) : []
  yield head
  const query = { format, 'id-prefix': work.idPrefix, limit: String(PAGE) }
  for await (const { users, damaged = [] } of listPages(control, 'transfer.export', () => query)) {
    for (const user of users) addLosses(user, work)
    const text = users.map((user) => user.text).join(separator)
    yield summary.users > 0 && users.length > 0 ? `${separator}${text}` : text
    summary.users += users.length
    summary.damaged.push(...damaged)
    report.progress.update({ done: summary.users, total, records: summary.users })
  }
  yield `${summary.users > 0 ? '\n' : ''}${renderTail(administrators, settings)}`
  summary.settings = settings.length
}

type ExportPage = OperationResult<'transfer.export'>

const PAGE = 200

/** Settings made at run time. A server elsewhere does not send secrets. */
async function loadSettings(control: Control, report: Work['report']): Promise<readonly WrittenSetting[]> {
  const { settings } = await control.call('transfer.settings')
  return settings.flatMap(({ section, key, text }) => {
    if (text !== undefined) return [{ section, key, text }]
    const reason = 'A secret setting is exported only on the machine of the server, without --url.'
    report.add({ kind: 'note', id: `${section}.${key}`, reason })
    return []
  })
}

/** Counts what is lost, and reports what changes how a user signs in. */
function addLosses({ name: id, losses }: ExportPage['users'][number], { report, summary }: Work): void {
  for (const loss of losses) {
    summary.losses[loss] = (summary.losses[loss] ?? 0) + 1
    const reason = REPORTED_LOSSES.get(loss)
    if (reason !== undefined) report.add({ kind: 'note', id, reason })
  }
}

/** Writes a file for its owner alone, or standard output. A pipe or a device is written directly. */
async function writeOutput({ cwd }: Context, file: string | undefined, content: Content): Promise<void> {
  if (file === undefined) return writeStandardOutput(content)
  const path = resolve(cwd, file)
  try {
    const isReplaced = statSync(path, { throwIfNoEntry: false })?.isFile() ?? true
    if (isReplaced) await replaceByWriting(path, (temporary) => pipeline(content, openNewStream(temporary)))
    else await pipeline(content, (await open(path, 'w')).createWriteStream())
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
    throw commandError(`${file} cannot be written: ${error.message}`)
  }
}

type Content = AsyncIterable<string> | Iterable<string>

async function writeStandardOutput(content: Content): Promise<void> {
  for await (const text of content) {
    // if the reader has closed the pipe, there is nothing to wait for
    if (process.stdout.destroyed || process.stdout.write(text)) continue
    await Promise.race([once(process.stdout, 'drain'), once(process.stdout, 'close')])
  }
}

function renderSummary({ users, settings, losses }: ExportSummary): string {
  const lost = Object.entries(losses).map(([loss, count]) => `${loss.replaceAll('_', ' ')} of ${renderCount(count)}`)
  return [
    `Exported ${renderCount(users)} users.`,
    ...(settings > 0 ? [`Exported ${renderCount(settings)} run-time settings.`] : []),
    ...(lost.length > 0 ? [`Not exported, because the format cannot contain them: ${lost.join(', ')}.`] : []),
  ].join('\n')
}
