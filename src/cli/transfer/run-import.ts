import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { FORMAT_NAMES, type FormatName } from '../../transfer/format-names.ts'
import type { Control } from '../client.ts'
import { type Context, ExitError } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { loadCa } from '../http-client.ts'
import { type ManageOptions, manage } from '../manage.ts'
import { readIdPrefix } from '../own-settings.ts'
import { readAuthorization } from '../remote.ts'
import { readAdministrators } from './administrators.ts'
import { type DocumentServer, loadAdministrators, openServerSource, readServerUrl } from './document-server.ts'
import {
  type ImportRecord,
  type ImportRules,
  type ImportSummary,
  renderImportSummary,
  type Totals,
} from './import-summary.ts'
import { Importer } from './importer.ts'
import { createProgress, type Progress } from './progress.ts'
import { createJsonReport, createTextReport, type Report } from './report.ts'
import { openFileSource, type Source } from './source.ts'
import { findUpstream } from './upstream-server.ts'

export interface ImportOptions extends ManageOptions {
  readonly from?: FormatName
  readonly fromUpstream?: boolean
  /** `true`: those of the source. */
  readonly admins?: string | true
  readonly replace?: boolean
  readonly dryRun?: boolean
  readonly sourceAs?: string
  readonly sourceCredentials?: string
}

interface Work {
  readonly source: Source
  readonly administrators: readonly ImportRecord[]
  readonly rules: ImportRules
  readonly progress: Progress
  readonly report: Report<ImportSummary>
}

export async function runImport(context: Context, given: string | undefined, options: ImportOptions): Promise<void> {
  const upstream = options.fromUpstream ? findUpstream(context) : undefined
  const place = requirePlace(given, upstream)
  const progress = createProgress({ what: 'importing', screen: process.stderr, nowMs: () => performance.now() })
  const report: Report<ImportSummary> = options.json
    ? createJsonReport((text) => void process.stdout.write(text))
    : createTextReport({ print: context.print, progress, render: renderImportSummary })
  const rules = { replaces: options.replace ?? false, isTrial: options.dryRun ?? false }
  const findServer = createServers(context, options, upstream)
  // problems of the sources are reported before the server or store is opened
  const source = await openSource(place, { idPrefix: readIdPrefix(context), from: options.from, context, findServer })
  const admins = options.admins === true ? place : options.admins
  const administrators = admins === undefined ? [] : await readAdmins(context, admins, findServer)
  const isWhole = await manage(context, options, (control) =>
    importAll(control, { source, administrators, rules, progress, report }),
  )
  if (!isWhole) throw new ExitError(EXIT.failed, 'Not everything was imported.')
}

function requirePlace(given: string | undefined, upstream: DocumentServer | undefined): string {
  if ((given === undefined) === (upstream === undefined))
    throw new ExitError(EXIT.usage, 'Give a source, or --from-upstream: one of them.')
  return given ?? upstream?.base.href ?? ''
}

const ADDRESS = /^https?:\/\//i

type FindServer = (place: string) => Promise<DocumentServer>

/** Asks for the credentials of each server once. */
function createServers(
  context: Context,
  { sourceAs, sourceCredentials, ca: file }: ImportOptions,
  upstream: DocumentServer | undefined,
): FindServer {
  const known = new Map<string, Promise<string>>()
  const ca = loadCa(context, file)
  // a credential that is given is used; the signed identity needs none
  const isSigned = sourceAs === undefined && sourceCredentials === undefined
  const flags = {
    ...(sourceAs === undefined ? {} : { as: sourceAs }),
    ...(sourceCredentials === undefined ? {} : { credentials: sourceCredentials }),
    flag: '--source-credentials',
  }
  return async (place) => {
    const base = readServerUrl(place)
    if (isSigned && base.origin === upstream?.base.origin) return upstream
    const authorization = known.get(base.origin) ?? readAuthorization(context, base, flags)
    known.set(base.origin, authorization)
    const headers = { Authorization: await authorization }
    return { base, headers: () => headers, ca: ca ?? upstream?.ca }
  }
}

interface SourceDeps {
  readonly context: Context
  readonly from: FormatName | undefined
  readonly idPrefix: string
  readonly findServer: FindServer
}

async function openSource(place: string, { context, from, idPrefix, findServer }: SourceDeps): Promise<Source> {
  if (!ADDRESS.test(place)) return openFileSource(context, place, { format: from, idPrefix })
  if (from !== undefined && from !== 'document') {
    throw new ExitError(EXIT.usage, 'Only CouchDB is read from a URL. Import a dump of the other formats.')
  }
  return openServerSource(await findServer(place), idPrefix)
}

async function readAdmins({ cwd }: Context, place: string, findServer: FindServer): Promise<readonly ImportRecord[]> {
  if (ADDRESS.test(place)) return readAdministrators(await loadAdministrators(await findServer(place)))
  try {
    return readAdministrators(readFileSync(resolve(cwd, place), 'utf8'))
  } catch (error) {
    throw new ExitError(EXIT.failed, `${place} cannot be read: ${messageOf(error)}`)
  }
}

/** Returns whether everything was imported. The report is ended even if the import fails. */
async function importAll(
  control: Control,
  { source, administrators, rules, progress, report }: Work,
): Promise<boolean> {
  const startMs = performance.now()
  const importer = new Importer({ control, rules, report })
  const interrupt = catchInterrupt()
  try {
    await addAll(source, importer, { progress, signal: interrupt.signal })
    if (!interrupt.signal.aborted) for (const record of administrators) await importer.add(record)
    requireFormat(source)
  } finally {
    interrupt.release()
    report.end({
      format: source.format(),
      isTrial: rules.isTrial,
      isStopped: interrupt.signal.aborted,
      ...importer.totals(),
      elapsedMs: Math.round(performance.now() - startMs),
    })
  }
  return isWhole(importer.totals()) && !interrupt.signal.aborted
}

const isWhole = ({ users, administrators, settings }: Totals): boolean =>
  users.refused + administrators.refused + settings.refused === 0

interface Running {
  readonly progress: Progress
  readonly signal: AbortSignal
}

async function addAll(source: Source, importer: Importer, { progress, signal }: Running): Promise<void> {
  let records = 0
  for await (const found of source.read(signal)) {
    for (const { line, ...record } of found) {
      if (signal.aborted) break
      await importer.add(source.hasLines ? { ...record, line } : record)
      records += 1
    }
    if (signal.aborted) break
    progress.update({ ...source.position(), records })
  }
  await importer.flush()
}

/** Throws if no record could be read, so that the format is unknown. */
function requireFormat(source: Source): void {
  if (source.format() !== undefined) return
  throw new ExitError(
    EXIT.usage,
    `The format of the source cannot be recognised. Use --from ${FORMAT_NAMES.join('|')}.`,
  )
}

/** Aborted by the first interrupt; a second one ends the process. */
function catchInterrupt(): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController()
  const onInterrupt = () => {
    release()
    controller.abort()
  }
  const release = () => {
    process.off('SIGINT', onInterrupt).off('SIGTERM', onInterrupt)
  }
  process.on('SIGINT', onInterrupt).on('SIGTERM', onInterrupt)
  return { signal: controller.signal, release }
}
