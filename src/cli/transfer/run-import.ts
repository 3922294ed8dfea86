import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import type { Found } from '../../transfer/dump.ts'
import type { FormatName } from '../../transfer/format-names.ts'
import type { Control } from '../client.ts'
import { type Context, EXIT, ExitError } from '../context.ts'
import { loadCa } from '../http-client.ts'
import { type ManageOptions, manage } from '../manage.ts'
import { readIdPrefix } from '../own-settings.ts'
import { readAuthorization } from '../remote.ts'
import { readAdministrators } from './administrators.ts'
import { type DocumentServer, loadAdministrators, openServerSource, readServerUrl } from './document-server.ts'
import { type ImportSummary, renderImportSummary } from './import-summary.ts'
import { Importer, type ImportRules } from './importer.ts'
import { createReport, type Report } from './report.ts'
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

const ADDRESS = /^https?:\/\//i

export async function runImport(context: Context, given: string | undefined, options: ImportOptions): Promise<void> {
  const upstream = options.fromUpstream ? findUpstream(context) : undefined
  const place = requirePlace(given, upstream)
  const format = requireFormat(place, options.from)
  const isJson = options.json ?? false
  const report = createReport('importing', isJson, context.print, renderImportSummary)
  const findServer = createServers(context, options, upstream)
  const idPrefix = readIdPrefix(context)
  // problems of the sources are reported before the server or store is opened
  const source = ADDRESS.test(place)
    ? await openServerSource(await findServer(place), idPrefix)
    : openFileSource(context, place, format, idPrefix)
  const admins = options.admins === true ? place : options.admins
  const administrators = admins === undefined ? [] : readAdministrators(await loadAdmins(context, admins, findServer))
  const rules = { replaces: options.replace ?? false, isTrial: options.dryRun ?? false }
  const isWhole = await manage(context, options, (control) =>
    importAll(control, { source, administrators, format, rules, report }),
  )
  if (!isWhole) throw new ExitError(EXIT.failed, 'Not everything was imported.')
}

function requirePlace(given: string | undefined, upstream: DocumentServer | undefined): string {
  if ((given === undefined) === (upstream === undefined))
    throw new ExitError(EXIT.usage, 'Give a source, or --from-upstream: one of them.')
  return given ?? upstream?.base.href ?? ''
}

function requireFormat(place: string, from: FormatName | undefined): FormatName {
  if (!ADDRESS.test(place)) return from ?? 'cardea'
  if (from === undefined || from === 'document') return 'document'
  throw new ExitError(EXIT.usage, 'Only CouchDB is read from a URL. Import a dump of the other formats.')
}

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

async function loadAdmins({ cwd }: Context, place: string, findServer: FindServer): Promise<string> {
  if (ADDRESS.test(place)) return loadAdministrators(await findServer(place))
  try {
    return readFileSync(resolve(cwd, place), 'utf8')
  } catch (error) {
    throw new ExitError(EXIT.failed, `${place} cannot be read: ${messageOf(error)}`)
  }
}

interface Work {
  readonly source: Source
  /** Imported after the source. */
  readonly administrators: readonly Found[]
  readonly format: FormatName
  readonly rules: ImportRules
  readonly report: Report<ImportSummary>
}

/** Returns whether everything was imported. The report is ended even if the import fails. */
async function importAll(control: Control, work: Work): Promise<boolean> {
  const { format, rules, report } = work
  const startMs = performance.now()
  const importer = new Importer(control, rules, report)
  const { signal, release } = catchInterrupt()
  try {
    await addAll(importer, work, signal)
  } finally {
    release()
    const elapsedMs = Math.round(performance.now() - startMs)
    report.end({ format, isTrial: rules.isTrial, isStopped: signal.aborted, ...importer.totals, elapsedMs })
  }
  const { users, administrators, settings } = importer.totals
  return users.refused + administrators.refused + settings.refused === 0 && !signal.aborted
}

async function addAll(importer: Importer, work: Work, signal: AbortSignal): Promise<void> {
  const { source, administrators, report } = work
  let records = 0
  for await (const found of source.read(signal)) {
    for (const record of found) {
      if (signal.aborted) break
      await importer.add(record)
      records += 1
    }
    if (signal.aborted) break
    report.progress.update({ ...source.position(), records })
  }
  await importer.flush()
  for (const record of administrators) if (!signal.aborted) await importer.add(record)
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
