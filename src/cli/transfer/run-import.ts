import { resolve } from 'node:path'
import { SYSTEM_CLOCK } from '../../base/clock.ts'
import { ADMIN_ROLE, ANONYMOUS, type Authenticated } from '../../directory/identity.ts'
import { loadConfiguration } from '../../live-config/load.ts'
import type { Found } from '../../transfer/dump.ts'
import type { ImportFormat } from '../../transfer/format-names.ts'
import { identityHeadersForDocument } from '../../wiring/upstreams.ts'
import type { Control } from '../client.ts'
import { type Context, commandError, usageError } from '../context.ts'
import { type ManageOptions, manage } from '../manage.ts'
import { readIdPrefix, toInput } from '../own-settings.ts'
import { loadCa, readAuthorization, readNamedFile } from '../remote.ts'
import { readAdministratorFile } from './administrators.ts'
import { type DocumentServer, loadAdministrators, openServerSource, readServerUrl } from './document-server.ts'
import { type ImportCounts, Importer, type ImportRules } from './importer.ts'
import { renderCount, renderDuration } from './progress.ts'
import { createReport, type Report } from './report.ts'
import { type ImportSource, openFileSource } from './source.ts'

export interface ImportOptions extends ManageOptions {
  readonly from?: ImportFormat
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
  if (format === 'csv' && options.replace) throw usageError(NO_WHOLE_USERS)
  const isJson = options.json ?? false
  const report = createReport('importing', isJson, context.print, renderImportSummary)
  const findServer = createServers(context, options, upstream)
  const idPrefix = readIdPrefix(context)
  // problems of the sources are reported before the server or store is opened
  const source = ADDRESS.test(place)
    ? await openServerSource(await findServer(place), idPrefix)
    : openFileSource(context, place, format, idPrefix)
  const admins = options.admins === true ? place : options.admins
  const administrators =
    admins === undefined ? [] : readAdministratorFile(await loadAdmins(context, admins, findServer))
  const rules = { replaces: options.replace ?? false, isTrial: options.dryRun ?? false }
  const isWhole = await manage(context, options, (control) =>
    importAll(control, { source, administrators, format, rules, report }),
  )
  if (!isWhole) throw commandError('Not everything was imported.')
}

const NO_WHOLE_USERS =
  'A list does not hold whole users: --replace would remove what it leaves out. Import it in the console to change users that exist.'

function requirePlace(given: string | undefined, upstream: DocumentServer | undefined): string {
  if ((given === undefined) === (upstream === undefined))
    throw usageError('Give a source, or --from-upstream: one of them.')
  return given ?? upstream?.base.href ?? ''
}

function requireFormat(place: string, from: ImportFormat | undefined): ImportFormat {
  if (!ADDRESS.test(place)) return from ?? 'cardea'
  if (from === undefined || from === 'document') return 'document'
  throw usageError('Only CouchDB is read from a URL. Import a dump of the other formats.')
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
  const flags = { as: sourceAs, credentials: sourceCredentials, flag: '--source-credentials' }
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
  return readNamedFile(resolve(cwd, place), place)
}

interface Work {
  readonly source: ImportSource
  /** Imported after the source. */
  readonly administrators: readonly Found[]
  readonly format: ImportFormat
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

type ImportSummary = Importer['totals'] & {
  readonly format: string
  readonly isTrial: boolean
  readonly isStopped: boolean
  readonly elapsedMs: number
}

function renderImportSummary(summary: ImportSummary): string {
  const { users, administrators, settings, passed, format, elapsedMs } = summary
  const rate = elapsedMs > 0 ? (sumOf(users) * 1000) / elapsedMs : 0
  return [
    `Users: ${renderCounts(users)}.`,
    ...(sumOf(administrators) > 0 ? [`Administrators: ${renderCounts(administrators)}.`] : []),
    ...(sumOf(settings) > 0 ? [`Settings: ${renderCounts(settings)}.`] : []),
    ...(passed > 0 ? [renderSkipped(passed)] : []),
    `Format ${format}, ${renderDuration(elapsedMs)}, ${renderCount(rate)} users/s.`,
    ...(summary.isStopped
      ? ['Stopped before the end. Imported users are kept; run the same command again to import the others.']
      : []),
    ...(summary.isTrial ? ['Dry run: nothing was written.'] : []),
  ].join('\n')
}

const renderSkipped = (count: number): string =>
  count === 1 ? 'Skipped 1 record that is not a user.' : `Skipped ${renderCount(count)} records that are not users.`

const renderCounts = (counts: ImportCounts): string =>
  Object.entries(counts)
    .map(([kind, count]) => `${renderCount(count)} ${kind}`)
    .join(', ')

const sumOf = (counts: ImportCounts): number => Object.values(counts).reduce((sum, count) => sum + count, 0)

/** The identity that reads users. CouchDB needs no user of this name. */
const IMPORTER: Authenticated = Object.freeze({
  ...ANONYMOUS,
  identity: Object.freeze({ ...ANONYMOUS.identity, name: 'cardea-import', roles: [ADMIN_ROLE], isAdmin: true }),
})

const NO_PASSWORDS =
  'ArangoDB does not show stored passwords over HTTP. Import a dump of its _users collection: docs/guides/arangodb.md shows how.'

const REJECTED =
  'it rejects the identity that Cardea signs. Add the lines that cardea start printed to a file of its local.d folder and restart it, or give --source-credentials'

/** The CouchDB server behind the document door, read with the secret that it shares with Cardea. */
function findUpstream(context: Context): DocumentServer {
  const { settings, problems } = loadConfiguration(toInput(context))
  if (problems.length > 0) throw commandError(problems.map(({ message }) => message).join('\n'))
  const { upstream } = settings.values
  const [url] = upstream.document
  if (url === undefined) {
    const isArangodb = upstream['multi-model'].length > 0
    throw commandError(isArangodb ? NO_PASSWORDS : 'No upstream is configured: see upstream.document.')
  }
  const toHeaders = identityHeadersForDocument({ get: () => settings.values }, SYSTEM_CLOCK)
  return {
    base: readServerUrl(url),
    headers: () => toRecord(toHeaders(IMPORTER).headers),
    ca: loadCa(context, upstream['ca-file'] || undefined),
    caOption: 'upstream.ca-file',
    rejection: REJECTED,
  }
}

const toRecord = (flat: readonly string[]): Record<string, string> =>
  Object.fromEntries(flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : [])))
