/**
 * Makes the secret that Cardea shares with a database, if there is none, and renders the lines that the database needs.
 * Secret and URL are kept in a file of the configuration's folder, so that later commands find them without flags.
 */

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createFile } from '../base/files.ts'
import type { Config } from '../config/options.ts'
import { DOCUMENT_IDENTITIES, MULTI_MODEL_IDENTITIES } from '../gateway/upstream-identities.ts'
import { loadConfiguration } from '../live-config/load.ts'
import { OPTION_TABLE } from '../module-options.ts'
import { type Context, commandError } from './context.ts'

type UpstreamOptions = Config['upstream']

/** One database that Cardea can be in front of. */
interface Database {
  /** Name of the file with the secret, and of the file with the options. */
  readonly name: string
  needsSecret(options: UpstreamOptions): boolean
  urls(options: UpstreamOptions): readonly string[]
  renderOptions(urls: readonly string[], keyFile: string): string
  /** What the administrator of the database has to do. */
  renderSteps(config: Config, secret: string, keyFile: string): string
}

const DATABASES: readonly Database[] = [
  {
    name: 'upstream-document',
    needsSecret: (options) => options.document.length > 0 && options['document-secret'] === '',
    urls: (options) => options.document,
    renderOptions: (urls, keyFile) => `[upstream]\ndocument = ${urls.join(', ')}\ndocument-secret = @file:${keyFile}\n`,
    renderSteps: renderCouchdbSteps,
  },
  {
    name: 'upstream-multi-model',
    needsSecret: (options) =>
      options['multi-model'].length > 0 &&
      MULTI_MODEL_IDENTITIES[options['multi-model-identity']].isSigned &&
      options['multi-model-secret-keyfile'] === '' &&
      options['multi-model-secret-folder'] === '',
    urls: (options) => options['multi-model'],
    renderOptions: (urls, keyFile) =>
      `[upstream]\nmulti-model = ${urls.join(', ')}\nmulti-model-secret-keyfile = ${keyFile}\n`,
    renderSteps: renderArangodbSteps,
  },
]

/** Returns a text for each database that got a new secret. It holds the secret, and is shown once. */
export function prepareUpstreams(context: Context, folder: string): readonly string[] {
  const { flags, env, cwd } = context
  const configs = [folder, ...flags.configs]
  const { values } = loadConfiguration({ table: OPTION_TABLE, flags: { ...flags, configs }, env, cwd }).settings
  const place = resolve(cwd, folder)
  return DATABASES.filter(({ needsSecret }) => needsSecret(values.upstream)).map((database) =>
    prepareUpstream(database, values, place),
  )
}

function prepareUpstream(database: Database, config: Config, folder: string): string {
  const keyFile = `keys/${database.name}`
  const optionFile = join(folder, `${database.name}.ini`)
  const path = join(folder, keyFile)
  // 32 random bytes as 64 hexadecimal digits: the longest secret that ArangoDB accepts
  createFile(path, randomBytes(32).toString('hex'))
  const secret = readFileSync(path, 'utf8').trim()
  const options = database.renderOptions(database.urls(config.upstream), keyFile)
  const isWritten = createFile(optionFile, `; Written by cardea start.\n${options}`)
  if (!isWritten)
    throw commandError(`${optionFile} exists and names no secret for the database. Add it, or remove the file.`)
  return database.renderSteps(config, secret, path)
}

function renderCouchdbSteps(config: Config, secret: string): string {
  const { document, 'document-identity': identity } = config.upstream
  const { handler, renderLines } = DOCUMENT_IDENTITIES[identity]
  return `A secret for CouchDB at ${document.join(', ')} was made. Put these lines into a file of its local.d/ folder and
restart it. They hold the secret and are shown once.

[chttpd]
authentication_handlers = {chttpd_auth, ${handler}}, {chttpd_auth, cookie_authentication_handler}, {chttpd_auth, default_authentication_handler}
${renderLines(secret)}

${config.directory.source === 'own' ? IMPORT_STEP : STAY_STEP}`
}

const IMPORT_STEP = 'Then bring its users and administrators along:\n  cardea import --from-upstream --admins --replace'
const STAY_STEP =
  'Its users stay there. Add those of its administrators who shall sign in here:\n  cardea admin add NAME'

function renderArangodbSteps(config: Config, _secret: string, keyFile: string): string {
  return `A secret for ArangoDB at ${config.upstream['multi-model'].join(', ')} was made. Copy the file to a place that only arangod can
read, put these lines into arangod.conf and restart it:

  ${keyFile}

[server]
authentication = true
jwt-secret-keyfile = PATH OF THE COPY`
}
