/** `/_node/…`: the name and versions of this node, and the routes of its configuration. */
import { badRequest, Refusal } from '../../base/errors.ts'
import type { Handler, Params, Reply, RequestContext } from '../../http/request-context.ts'
import { toJsonReply } from './body.ts'
import { deleteValue, getConfig, getSection, getValue, putValue, reload } from './config-api.ts'
import type { DocumentUpstream, NodeDeps } from './deps.ts'
import { forwardGuarded } from './forward.ts'
import type { DocumentRoute } from './rights.ts'

/** For administrators: no row names another right. */
export function nodeRoutes(deps: NodeDeps, upstream?: DocumentUpstream): readonly DocumentRoute[] {
  const onThisNode = createNodeCheck(deps, upstream)
  const name = onThisNode(() => toJsonReply(200, { name: deps.nodeName }))
  const config = '/_node/{node}/_config'
  return [
    { path: '/_node', methods: { GET: incomplete, POST: incomplete, PUT: incomplete, DELETE: incomplete } },
    { path: '/_node/{node}', methods: { GET: name, POST: name, PUT: name, DELETE: name } },
    { path: '/_node/{node}/_versions', methods: { GET: onThisNode(() => versions(deps)) } },
    { path: config, methods: { GET: onThisNode(() => getConfig(deps)) } },
    { path: `${config}/_reload`, methods: { POST: onThisNode(() => reload(deps)) } },
    { path: `${config}/{section}`, methods: { GET: onThisNode((_context, params) => getSection(params, deps)) } },
    {
      path: `${config}/{section}/{key}`,
      methods: {
        GET: onThisNode((_context, params) => getValue(params, deps)),
        PUT: onThisNode((context, params) => putValue(context, params, deps)),
        DELETE: onThisNode((context, params) => deleteValue(context, params, deps)),
      },
    },
  ]
}

/** Wraps a handler: forwards what belongs to the upstream, and rejects the names of other nodes. */
const createNodeCheck =
  (deps: NodeDeps, upstream?: DocumentUpstream) =>
  (handler: Handler): Handler =>
  (context, params) => {
    if (upstream?.isSet() && !isOwn(context, params, deps)) return forwardGuarded(context, upstream, deps.isOwnSetting)
    if (!isOwnNode(params, deps)) throw new Refusal('node_not_found', { value: params['node'] ?? '' })
    return handler(context, params)
  }

const isOwnNode = ({ node }: Params, { nodeName }: NodeDeps): boolean => node === '_local' || node === nodeName

/** Other nodes, and settings that Cardea does not use, belong to the upstream. A misspelt section is rejected here. */
function isOwn({ method }: RequestContext, params: Params, deps: NodeDeps): boolean {
  const { section, key } = params
  if (!isOwnNode(params, deps)) return false
  if (section === undefined || deps.isOwnSetting(section, key)) return true
  return method === 'PUT' && deps.isMisspelt(section)
}

const incomplete: Handler = () => {
  throw badRequest('Incomplete path to _node request')
}

function versions({ supportedHashes }: NodeDeps): Reply {
  const { node, openssl, icu, unicode } = process.versions
  return toJsonReply(200, {
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
