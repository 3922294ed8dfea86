import { dirname, join, resolve } from 'node:path'
import { Command } from 'commander'
import { createFile, createFolders } from '../base/files.ts'
import { CONSOLE_PATH } from '../dialects/own-paths.ts'
import type { UpstreamFinding } from '../gateway/upstream-check.ts'
import { loadConfiguration } from '../live-config/load.ts'
import { makeAuditKey } from '../observe/audit/audit-key.ts'
import type { Context } from './context.ts'
import { AUDIT_KEY, DEFAULT_FOLDER, isFolderMade } from './folder.ts'
import { makeFolder, renderMade } from './init.ts'
import { requireNone } from './own-settings.ts'
import { type Greeting, serve } from './serve.ts'
import { prepareUpstreams } from './upstream-secrets.ts'

/** `cardea start`: `init` if needed, then `serve`. */
export const startCommand = (context: Context): Command =>
  new Command('start')
    .description('initialise if needed, then start the server')
    .argument(
      '[folder]',
      `where the configuration and the store are (default: "${DEFAULT_FOLDER}", unless --config is given)`,
    )
    .action(async (given: string | undefined) => {
      const { configs } = context.flags
      // with an explicit configuration no default folder is created
      const isNamed = configs.length > 0 || Boolean(context.env['CARDEA_CONFIG'])
      if (given === undefined && isNamed) return serve(context, configs, (app) => renderGreeting(app))
      requireFlags(context)
      const folder = given ?? DEFAULT_FOLDER
      const made = isFolderMade(folder) ? undefined : await makeFolder(folder)
      if (made) context.print(`${renderMade(made)}\n`)
      prepareAuditKey(context, folder)
      for (const text of prepareUpstreams(context, folder)) context.print(`${text}\n`)
      await serve(context, [folder, ...configs], (greeting) => renderGreeting(greeting, made?.password))
    })

/** Throws if a flag is invalid, before a folder is created. Its files may resolve a conflict between options. */
function requireFlags({ flags, env, cwd }: Context): void {
  const { problems } = loadConfiguration({ flags, env, cwd })
  requireNone(problems.filter(({ kind, place }) => kind !== 'conflict' && place.startsWith('--')))
}

/**
 * Makes the key that signs the checkpoints of the audit trail, for a folder that a version without it has made. An
 * existing key is kept.
 */
function prepareAuditKey({ flags, env, cwd }: Context, folder: string): void {
  const configs = [folder, ...flags.configs]
  const { values } = loadConfiguration({ flags: { ...flags, configs }, env, cwd }).settings
  const named = values.audit['key-file']
  const path = named === '' ? join(resolve(cwd, folder), AUDIT_KEY) : named
  createFolders(dirname(path))
  createFile(path, makeAuditKey())
  if (named === '')
    createFile(join(folder, 'audit.ini'), `; Written by cardea start.\n[audit]\nkey-file = ${AUDIT_KEY}\n`)
}

async function renderGreeting({ app, addresses }: Greeting, password = 'PASSWORD'): Promise<string> {
  const problems = renderProblems(await app.readiness.settled())
  return [renderAddresses(addresses, password), problems, 'Stop with Ctrl-C.'].filter(Boolean).join('\n\n')
}

function renderProblems(findings: readonly UpstreamFinding[]): string {
  if (findings.length === 0) return ''
  const lines = findings.map(({ upstream, reason, check }) => `  ${upstream}: ${reason}\n    ${check}`)
  return `Not ready. Cardea tries again every few seconds:\n${lines.join('\n')}`
}

function renderAddresses(addresses: Greeting['addresses'], password: string): string {
  const [document] = addresses.document
  const [multiModel] = addresses.multiModel
  const places = [
    ...addresses.document.map((url) => `  document door     ${url}`),
    ...addresses.multiModel.map((url) => `  multi-model door  ${url}`),
    ...addresses.admin.map((url) => `  admin endpoint    ${url}`),
    ...addresses.metrics.map((url) => `  metrics           ${url}/metrics`),
    ...findConsole(addresses).map((url) => `  console           ${url}${CONSOLE_PATH}`),
  ]
  const commands = [
    document && `  curl ${renderPlace(document)}/_up`,
    document && `  curl -u 'admin:${password}' ${renderPlace(document)}/_session`,
    multiModel && `  curl -u 'admin:${password}' ${renderPlace(multiModel)}/_api/version`,
  ].filter(Boolean)
  return `Cardea is open:\n${places.join('\n')}\n\nTry:\n${commands.join('\n')}`
}

/** Where a browser opens the console: the listener of its own, or else a door. */
const findConsole = ({ admin, document, multiModel }: Greeting['addresses']): readonly string[] =>
  [...admin, ...document, ...multiModel].filter((url) => !url.startsWith(UNIX)).slice(0, 1)

/** Arguments of curl for this address; a path can be appended. */
const renderPlace = (address: string): string =>
  address.startsWith(UNIX) ? `--unix-socket ${address.slice(UNIX.length)} http://localhost` : address

const UNIX = 'unix://'
