import { dirname, join, relative, resolve } from 'node:path'
import { Command } from 'commander'
import { createFile, createFolders } from '../base/files.ts'
import { CONSOLE_PATH } from '../base/own-paths.ts'
import { isSupervised } from '../cluster/worker-process.ts'
import type { Config } from '../config/options.ts'
import type { UpstreamFinding } from '../gateway/upstream-check.ts'
import { loadConfiguration } from '../live-config/load.ts'
import { OPTION_TABLE } from '../module-options.ts'
import { makeAuditKey } from '../observe/audit/audit-key.ts'
import { isOnAllInterfaces, toBrowserAddress, toLocalAddress } from './browser-address.ts'
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
      const greet = (password?: string) => (greeting: Greeting, config: Config) =>
        renderGreeting(greeting, renderNext(context, given, config), password)
      if (given === undefined && isNamed) return serve(context, configs, greet())
      const folder = given ?? DEFAULT_FOLDER
      // the process that supervises this one has done so
      const password = isSupervised() ? undefined : await prepareFolder(context, folder)
      await serve(context, [folder, ...configs], greet(password)).catch((error: unknown) => {
        if (password !== undefined) context.print(renderKept(folder))
        throw error
      })
    })

/** The folder is made before the server opens its ports, one of which may be in use. */
const renderKept = (folder: string): string =>
  `The server did not start. ${folder}/ is complete: the next start uses it, with the password above.\n`

/** Returns the password of the administrator of a folder that it has made. */
async function prepareFolder(context: Context, folder: string): Promise<string | undefined> {
  requireFlags(context)
  const made = isFolderMade(folder) ? undefined : await makeFolder(folder)
  if (made) context.print(`${renderMade(made)}\n`)
  prepareAuditKey(context, folder)
  for (const text of prepareUpstreams(context, folder)) context.print(`${text}\n`)
  return made?.password
}

/** Throws if a flag is invalid, before a folder is created. Its files may resolve a conflict between options. */
function requireFlags({ flags, env, cwd }: Context): void {
  const { problems } = loadConfiguration({ table: OPTION_TABLE, flags, env, cwd })
  requireNone(problems.filter(({ kind, place }) => kind !== 'conflict' && place.startsWith('--')))
}

/**
 * Makes the key that signs the checkpoints of the audit trail, for a folder that a version without it has made. An
 * existing key is kept.
 */
function prepareAuditKey({ flags, env, cwd }: Context, folder: string): void {
  const configs = [folder, ...flags.configs]
  const { values } = loadConfiguration({ table: OPTION_TABLE, flags: { ...flags, configs }, env, cwd }).settings
  const named = values.audit['key-file']
  const path = named === '' ? join(resolve(cwd, folder), AUDIT_KEY) : named
  createFolders(dirname(path))
  createFile(path, makeAuditKey())
  if (named === '')
    createFile(join(folder, 'audit.ini'), `; Written by cardea start.\n[audit]\nkey-file = ${AUDIT_KEY}\n`)
}

async function renderGreeting({ addresses, findings, notes }: Greeting, next: string, password = 'PASSWORD') {
  const urls = await Promise.all(findConsole(addresses).map(toBrowserAddress))
  const console = urls.map((url) => `  console                   ${url}${CONSOLE_PATH}\n`)
  const parts = [renderAddresses(addresses, password), renderProblems(findings), notes.join('\n'), 'Stop with Ctrl-C.']
  return [...parts, `Next:\n${console.join('')}${next}`].filter(Boolean).join('\n\n')
}

/** What a new operator does next, as commands for the same configuration. */
function renderNext({ flags, cwd }: Context, folder: string | undefined, { upstream }: Config): string {
  // in a checkout the command is not on the PATH
  const command = relative(cwd, process.argv[1] ?? '') === CHECKOUT_COMMAND ? CHECKOUT_COMMAND : 'cardea'
  const configs = [...(folder === undefined ? [] : [folder]), ...flags.configs].map((path) => ` --config ${path}`)
  const place = folder === undefined ? '' : ` ${folder}`
  const database = `  in front of your CouchDB  ${command} start${place} --upstream.document http://127.0.0.1:15984\n`
  const user = `  add a user                ${command} user add NAME${configs.join('')}`
  return `${upstream.document.length > 0 ? '' : database}${user}`
}

const CHECKOUT_COMMAND = join('bin', 'cardea')

function renderProblems(findings: readonly UpstreamFinding[]): string {
  if (findings.length === 0) return ''
  const lines = findings.map(({ upstream, reason, check }) => `  ${upstream}: ${reason}\n    ${check}`)
  return `Not ready. Cardea tries again every few seconds:\n${lines.join('\n')}`
}

function renderAddresses(addresses: Greeting['addresses'], password: string): string {
  const [document] = addresses.document
  const [multiModel] = addresses.multiModel
  const places = [
    ...addresses.document.map((url) => `  document door     ${renderListener(url)}`),
    ...addresses.multiModel.map((url) => `  multi-model door  ${renderListener(url)}`),
    ...addresses.admin.map((url) => `  admin endpoint    ${renderListener(url)}`),
    ...addresses.metrics.map((url) => `  metrics           ${renderListener(url, '/metrics')}`),
  ]
  const commands = [
    document && `  curl ${renderPlace(document)}/_up`,
    document && `  curl -u 'admin:${password}' ${renderPlace(document)}/_session`,
    multiModel && `  curl -u 'admin:${password}' ${renderPlace(multiModel)}/_api/version`,
  ].filter(Boolean)
  return `Cardea is open:\n${places.join('\n')}\n\nTry:\n${commands.join('\n')}`
}

const renderListener = (url: string, path = ''): string =>
  `${toLocalAddress(url)}${path}${isOnAllInterfaces(url) ? ' (on all interfaces)' : ''}`

/** Where a browser opens the console: the listener of its own, or else a door. */
const findConsole = ({ admin, document, multiModel }: Greeting['addresses']): readonly string[] =>
  [...admin, ...document, ...multiModel].filter((url) => !url.startsWith(UNIX)).slice(0, 1)

/** Arguments of curl for this address; a path can be appended. */
const renderPlace = (address: string): string =>
  address.startsWith(UNIX) ? `--unix-socket ${address.slice(UNIX.length)} http://localhost` : toLocalAddress(address)

const UNIX = 'unix://'
