import { Refusal } from '../../base/errors.ts'
import type { Handler, Params, Reply, RequestContext, Route } from '../../http/request-context.ts'
import { readDecodedBody, requireJson } from './body.ts'
import { forwardGuarded } from './config-filter.ts'
import { isProtected } from './config-guard.ts'
import type { DocumentUpstream } from './upstream.ts'
import { toJsonReply } from './wire.ts'

/** What the configuration endpoints need of the server. Secrets come masked. */
export interface NodeSettings {
  /** By section, then key: what was set, defaults left out. */
  list(): Readonly<Record<string, Readonly<Record<string, string>>>>
  /** Gives what was there before, as it may be shown; `''` for nothing. */
  set(section: string, key: string, text: string, options: SetOptions): Promise<string>
  /** The same; throws `option_not_found` where nothing is set. */
  unset(section: string, key: string, options: { readonly isVolatile: boolean }): Promise<string>
  reload(): Promise<void>
}

interface SetOptions {
  readonly isVolatile: boolean
  /** Of the cookie secret: what was made with earlier ones is refused at once. */
  readonly isImmediate: boolean
}

export interface NodeAdministrators {
  listAdministrators(): readonly { readonly name: string; readonly text: string }[]
  setAdministrator(
    name: string,
    password: { readonly password: string } | { readonly stored: string },
    options?: { readonly signal?: AbortSignal },
  ): Promise<string>
  removeAdministrator(name: string): Promise<string>
}

export interface NodeRouteOptions {
  readonly nodeName: string
  readonly configuration: NodeSettings
  readonly administrators: NodeAdministrators
  /** Whether a section, or a key in it, is this server's own, whatever stands behind it. */
  isOwnSetting(section: string, key?: string): boolean
  /** Whether a section is unknown, and nearly one of this server's own. */
  isMisspelt(section: string): boolean
  /** Throws unless the credential of the request has proved the password of its user. */
  requirePassword(context: RequestContext): Promise<void>
  /** Names of the hash algorithms this installation supports. */
  supportedHashes(): readonly string[]
}

/** `/_node/…`: who this node is, and its configuration. The path is an administrator's by the rules for paths. */
export function nodeRoutes(options: NodeRouteOptions, upstream?: DocumentUpstream): readonly Route[] {
  const { nodeName, configuration } = options
  const here =
    (handler: Handler): Handler =>
    (context, params) => {
      if (upstream?.isSet() && !isOwn(context, params, options))
        return forwardGuarded(context, upstream, options.isOwnSetting)
      requireNode(params['node'], nodeName)
      return handler(context, params)
    }
  const name = here(() => toJsonReply(200, { name: nodeName }))
  const config = '/_node/{node}/_config'
  return [
    { path: '/_node', methods: { GET: incomplete, POST: incomplete, PUT: incomplete, DELETE: incomplete } },
    { path: '/_node/{node}', methods: { GET: name, POST: name, PUT: name, DELETE: name } },
    { path: '/_node/{node}/_versions', methods: { GET: here(() => versions(options)) } },
    { path: config, methods: { GET: here(() => toJsonReply(200, listAll(options))) } },
    { path: `${config}/_reload`, methods: { POST: here(() => reload(configuration)) } },
    { path: `${config}/{section}`, methods: { GET: here((_exchange, params) => getSection(params, options)) } },
    {
      path: `${config}/{section}/{key}`,
      methods: {
        GET: here((_exchange, params) => getValue(params, options)),
        PUT: here((context, params) => putValue(context, params, options)),
        DELETE: here((context, params) => deleteValue(context, params, options)),
      },
    },
  ]
}

const isOwnNode = ({ node }: Params, { nodeName }: NodeRouteOptions): boolean => node === '_local' || node === nodeName

/** Other nodes, and settings that Cardea does not use, belong to the upstream. A misspelt section is refused here. */
function isOwn({ method }: RequestContext, params: Params, options: NodeRouteOptions): boolean {
  const { section, key } = params
  if (!isOwnNode(params, options)) return false
  if (section === undefined || options.isOwnSetting(section, key)) return true
  return method === 'PUT' && options.isMisspelt(section)
}

function requireNode(asked: string | undefined, own: string): void {
  if (asked !== '_local' && asked !== own) throw new Refusal('node_not_found', { about: asked ?? '' })
}

const incomplete: Handler = () => {
  throw new Refusal('bad_request', { about: 'Incomplete path to _node request' })
}

function versions({ supportedHashes }: NodeRouteOptions): Reply {
  const { node, openssl, icu, unicode } = process.versions
  return toJsonReply(200, {
    javascript_engine: { name: 'v8', version: process.versions.v8 },
    // Clients look for the list under this name; the runtime itself is Node.
    erlang: { version: `node ${node}, openssl ${openssl}`, supported_hashes: supportedHashes() },
    collation_driver: {
      name: 'libicu',
      library_version: icu,
      collator_version: '',
      collation_algorithm_version: unicode,
    },
  })
}

const adminTexts = ({ administrators }: NodeRouteOptions): Record<string, string> =>
  Object.fromEntries(administrators.listAdministrators().map(({ name, text }) => [name, text]))

function listAll(options: NodeRouteOptions): Record<string, unknown> {
  const all = { ...options.configuration.list(), admins: adminTexts(options) }
  return Object.fromEntries(Object.entries(all).map(([section, values]) => [section, sortKeys(values)]))
}

const sortKeys = (values: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)))

function findSection(section: string | undefined, options: NodeRouteOptions): Readonly<Record<string, string>> {
  if (section === 'admins') return adminTexts(options)
  const all = options.configuration.list()
  return section !== undefined && Object.hasOwn(all, section) ? (all[section] ?? {}) : {}
}

const getSection = ({ section }: Params, options: NodeRouteOptions): Reply =>
  toJsonReply(200, sortKeys(findSection(section, options)))

function getValue({ section, key = '' }: Params, options: NodeRouteOptions): Reply {
  const values = findSection(section, options)
  if (!Object.hasOwn(values, key)) throw new Refusal('option_not_found')
  return toJsonReply(200, values[key])
}

async function putValue(
  context: RequestContext,
  { section = '', key = '' }: Params,
  options: NodeRouteOptions,
): Promise<Reply> {
  const isVolatile = readIsVolatile(context, section)
  const isImmediate = readIsImmediate(context)
  const text = await readText(context)
  if (section === 'admins' && !isImmediate) return putAdministrator(context, key, text, options)
  return toJsonReply(200, await options.configuration.set(section, key, text.trim(), { isVolatile, isImmediate }))
}

/** Whether a change is for this process alone, which of an administrator it cannot be: every node must know them. */
function readIsVolatile(context: RequestContext, section: string): boolean {
  if (isProtected(section)) throw new Refusal('section_protected')
  const isVolatile = context.header('x-couch-persist') === 'false'
  if (isVolatile && section === 'admins') throw new Refusal('bad_request', { about: ADMINS_ARE_KEPT })
  return isVolatile
}

/** A parameter that is given twice must have the same value: which of two counts is a guess. */
function readOnce(query: URLSearchParams, name: string): string | null {
  const values = new Set(query.getAll(name))
  if (values.size > 1) throw new Refusal('bad_request', { about: `${name} is given twice, with different values` })
  return query.get(name)
}

/** `?grace=0`: cookies made with the secret that is replaced are refused at once. */
function readIsImmediate({ query }: RequestContext): boolean {
  const grace = readOnce(query, 'grace')
  if (grace !== null && grace !== '0') throw new Refusal('bad_request', { about: 'grace must be 0' })
  return grace === '0'
}

const ADMINS_ARE_KEPT =
  'Administrators are made, changed and deleted for good: X-Couch-Persist: false cannot be asked of them.'

async function putAdministrator(
  context: RequestContext,
  name: string,
  text: string,
  options: NodeRouteOptions,
): Promise<Reply> {
  const raw = readOnce(context.query, 'raw')
  if (raw !== null && raw !== 'true' && raw !== 'false') {
    throw new Refusal('bad_request', { about: `Bad value for 'raw' option: ${raw}` })
  }
  await requireOwnPassword(context, name, options)
  const password = raw === 'true' ? { stored: text.trim() } : { password: text }
  return toJsonReply(200, await options.administrators.setAdministrator(name, password, { signal: context.signal }))
}

async function deleteValue(
  context: RequestContext,
  { section = '', key = '' }: Params,
  options: NodeRouteOptions,
): Promise<Reply> {
  const isVolatile = readIsVolatile(context, section)
  if (readIsImmediate(context)) throw new Refusal('bad_request', { about: 'grace is for PUT of a new secret' })
  if (section === 'admins') return deleteAdministrator(context, key, options)
  return toJsonReply(200, await options.configuration.unset(section, key, { isVolatile }))
}

/** For an administrator's own entry: those of others may be set with any credential. */
async function requireOwnPassword(context: RequestContext, name: string, options: NodeRouteOptions): Promise<void> {
  if (context.authenticated?.identity.name === name) await options.requirePassword(context)
}

async function deleteAdministrator(context: RequestContext, name: string, options: NodeRouteOptions): Promise<Reply> {
  if (!Object.hasOwn(adminTexts(options), name)) throw new Refusal('option_not_found')
  await requireOwnPassword(context, name, options)
  return toJsonReply(200, await options.administrators.removeAdministrator(name))
}

async function reload(configuration: NodeSettings): Promise<Reply> {
  await configuration.reload()
  return toJsonReply(200, { ok: true })
}

/** The body as a JSON string. Its content type is not looked at. */
async function readText(context: RequestContext): Promise<string> {
  const bytes = await readDecodedBody(context)
  if (bytes === undefined) throw new Refusal('missing_body')
  const { value } = await requireJson(bytes, context)
  if (typeof value !== 'string') throw new Refusal('bad_request', { about: 'a JSON string expected' })
  return value
}
