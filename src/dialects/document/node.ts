// `/_node/…`: the name and versions of this node, and Cardea's own configuration, administrators in `[admins]` included.
import { badRequest, Refusal } from '../../base/errors.ts'
import { isJsonObject } from '../../base/json.ts'
import type { Caller } from '../../directory/caller.ts'
import type { Handler, Params, Reply, RequestContext, RequestHead } from '../../http/request-context.ts'
import type { DoorUpstream } from '../services.ts'
import { requireBody, toDocumentReply } from './body.ts'
import { findUpstreamConfig, forwardGuarded, isProtected } from './config-guard.ts'
import type { ConfigSection, NodeDeps } from './deps.ts'
import type { DocumentRoute } from './rights.ts'

const ADMINS = 'admins'

type NodeHandler = (deps: NodeDeps, context: RequestContext, params: Params) => Reply | Promise<Reply>

/** The options of CouchDB at the path of a request. */
type Theirs = Readonly<Record<string, unknown>>

/** Clients look here for options of CouchDB that they have set, although Cardea does not use them. */
const withTheirs =
  (show: (deps: NodeDeps, theirs: Theirs, section: string) => object, upstream: DoorUpstream): NodeHandler =>
  async (deps, context, { section = '' }) => {
    // CouchDB's own administrators are none of Cardea's
    const shared = upstream.isSet() && section !== ADMINS ? upstream : undefined
    return toDocumentReply(200, show(deps, shared ? await findUpstreamConfig(context, shared) : {}, section))
  }

function showConfig(deps: NodeDeps, theirs: Theirs): object {
  const own: Readonly<Record<string, ConfigSection>> = { ...deps.configuration.list(), [ADMINS]: listAdmins(deps) }
  const sections = new Set([...Object.keys(own), ...Object.keys(theirs)])
  const merged = [...sections].map((section) => {
    const given = theirs[section]
    return [section, merge(deps, section, own[section] ?? {}, isJsonObject(given) ? given : {})] as const
  })
  return Object.fromEntries(merged.filter(([section, values]) => section in own || Object.keys(values).length > 0))
}

const showSection = (deps: NodeDeps, theirs: Theirs, section: string): object =>
  merge(deps, section, findSection(section, deps), theirs)

/** Cardea's options, and those of CouchDB that are changed there. */
function merge({ isOwnSetting }: NodeDeps, section: string, own: ConfigSection, theirs: Theirs): ConfigSection {
  const added = Object.entries(theirs).filter(([key]) => !isOwnSetting(section, key))
  return sortKeys({ ...(Object.fromEntries(added) as ConfigSection), ...own })
}

const getValue: NodeHandler = (deps, _context, { section, key = '' }) => {
  const values = findSection(section, deps)
  if (!Object.hasOwn(values, key)) throw new Refusal('option_not_found')
  return toDocumentReply(200, values[key])
}

function findSection(section: string | undefined, deps: NodeDeps): ConfigSection {
  if (section === ADMINS) return listAdmins(deps)
  const all = deps.configuration.list()
  return section !== undefined && Object.hasOwn(all, section) ? (all[section] ?? {}) : {}
}

const listAdmins = ({ administrators }: NodeDeps): ConfigSection =>
  Object.fromEntries(administrators.listAdministrators().map(({ name, text }) => [name, text]))

const sortKeys = (values: ConfigSection): ConfigSection =>
  Object.fromEntries(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)))

const putValue: NodeHandler = async (deps, context, { section = '', key = '' }) => {
  const isVolatile = readIsVolatile(context, section)
  const isImmediate = readIsImmediate(context)
  const text = await readText(context)
  if (section === ADMINS && !isImmediate) return putAdministrator(context, key, text, deps)
  const option = { section, key, text: text.trim() }
  const before = await deps.configuration.set(option, toCaller(deps, context), { isVolatile, isImmediate })
  return toDocumentReply(200, before)
}

const deleteValue: NodeHandler = async (deps, context, { section = '', key = '' }) => {
  const isVolatile = readIsVolatile(context, section)
  if (readIsImmediate(context)) throw badRequest('grace is only for PUT of a new secret')
  if (section === ADMINS) return deleteAdministrator(context, key, deps)
  return toDocumentReply(200, await deps.configuration.unset(section, key, toCaller(deps, context), { isVolatile }))
}

/** A page of another origin that could not read the reply could not send such a request again either. */
function toCaller({ isOriginAllowed }: NodeDeps, context: RequestContext): Caller {
  const wasAllowed = isOriginAllowed(context)
  return {
    door: context.door,
    localAddress: context.localAddress,
    confirm: () => context.confirm(),
    async repeat() {
      await context.repeat()
      if (wasAllowed && !isOriginAllowed(context)) throw new Refusal('cross_origin')
    },
  }
}

const reload: NodeHandler = async ({ configuration }) => {
  await configuration.reload()
  return toDocumentReply(200, { ok: true })
}

/** Reads `X-Couch-Persist`. Administrators are always stored, because every node must know them. */
function readIsVolatile(context: RequestHead, section: string): boolean {
  if (isProtected(section)) throw new Refusal('section_protected')
  const isVolatile = context.header('x-couch-persist') === 'false'
  if (isVolatile && section === ADMINS) throw badRequest(ADMINS_ARE_STORED)
  return isVolatile
}

const ADMINS_ARE_STORED = 'Administrators are always stored: X-Couch-Persist: false is not supported for them.'

/** `?grace=0`: cookies signed with the secret that is replaced are rejected at once. */
function readIsImmediate({ query }: RequestHead): boolean {
  const grace = readOnce(query, 'grace')
  if (grace !== null && grace !== '0') throw badRequest('grace must be 0')
  return grace === '0'
}

/** A repeated parameter is accepted only with the same value. */
function readOnce(query: URLSearchParams, name: string): string | null {
  const values = new Set(query.getAll(name))
  if (values.size > 1) throw badRequest(`${name} is given twice, with different values`)
  return query.get(name)
}

/** The body as a JSON string. Its content type is ignored. */
async function readText(context: RequestContext): Promise<string> {
  const { value } = await requireBody(context)
  if (typeof value !== 'string') throw badRequest('a JSON string expected')
  return value
}

async function putAdministrator(context: RequestContext, name: string, text: string, deps: NodeDeps): Promise<Reply> {
  const raw = readOnce(context.query, 'raw')
  if (raw !== null && raw !== 'true' && raw !== 'false') throw badRequest(`Bad value for 'raw' option: ${raw}`)
  await requireOwnPassword(context, name, deps)
  const password = raw === 'true' ? { stored: text.trim() } : { password: text }
  return toDocumentReply(200, await deps.administrators.setAdministrator(name, context, password))
}

async function deleteAdministrator(context: RequestContext, name: string, deps: NodeDeps): Promise<Reply> {
  if (!Object.hasOwn(listAdmins(deps), name)) throw new Refusal('option_not_found')
  await requireOwnPassword(context, name, deps)
  return toDocumentReply(200, await deps.administrators.removeAdministrator(name, context))
}

/** Administrators need their password to change their own entry. For other entries any credential is enough. */
async function requireOwnPassword(context: RequestContext, name: string, deps: NodeDeps): Promise<void> {
  if (context.authenticated?.identity.name === name) await deps.requirePassword(context)
}

/** For administrators: no row names another right. */
export function nodeRoutes(deps: NodeDeps, upstream: DoorUpstream): readonly DocumentRoute[] {
  const onThisNode = createNodeCheck(deps, upstream)
  const name = onThisNode(({ nodeName }) => toDocumentReply(200, { name: nodeName }))
  const config = '/_node/{node}/_config'
  return [
    { path: '/_node', methods: { GET: incomplete, POST: incomplete, PUT: incomplete, DELETE: incomplete } },
    { path: '/_node/{node}', methods: { GET: name, POST: name, PUT: name, DELETE: name } },
    { path: '/_node/{node}/_versions', methods: { GET: onThisNode(showVersions) } },
    { path: config, methods: { GET: onThisNode(withTheirs(showConfig, upstream)) } },
    { path: `${config}/_reload`, methods: { POST: onThisNode(reload) } },
    { path: `${config}/{section}`, methods: { GET: onThisNode(withTheirs(showSection, upstream)) } },
    {
      path: `${config}/{section}/{key}`,
      methods: { GET: onThisNode(getValue), PUT: onThisNode(putValue), DELETE: onThisNode(deleteValue) },
    },
  ]
}

/** Wraps a handler: forwards what belongs to the upstream, and rejects the names of other nodes. */
const createNodeCheck =
  (deps: NodeDeps, upstream: DoorUpstream) =>
  (handler: NodeHandler): Handler =>
  (context, params) => {
    if (upstream.isSet() && !isOwn(context, params, deps)) return forwardGuarded(context, upstream, deps.isOwnSetting)
    if (!isOwnNode(params, deps)) throw new Refusal('node_not_found', { value: params['node'] ?? '' })
    return handler(deps, context, params)
  }

const isOwnNode = ({ node }: Params, { nodeName }: NodeDeps): boolean => node === '_local' || node === nodeName

/** Other nodes, and settings that Cardea does not use, belong to the upstream. A misspelt section is rejected here. */
function isOwn({ method }: RequestHead, params: Params, deps: NodeDeps): boolean {
  const { section, key } = params
  if (!isOwnNode(params, deps)) return false
  if (section === undefined || deps.isOwnSetting(section, key)) return true
  return method === 'PUT' && deps.isMisspelt(section)
}

const incomplete: Handler = () => {
  throw badRequest('Incomplete path to _node request')
}

function showVersions({ supportedHashes }: NodeDeps): Reply {
  const { node, openssl, icu, unicode } = process.versions
  return toDocumentReply(200, {
    javascript_engine: { name: 'v8', version: process.versions.v8 },
    // Clients look for the list under this name; the runtime is Node.
    erlang: { version: `node ${node}, openssl ${openssl}`, supported_hashes: supportedHashes() },
    collation_driver: {
      name: 'libicu',
      library_version: icu,
      collator_version: '',
      collation_algorithm_version: unicode,
    },
  })
}
