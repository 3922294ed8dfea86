// What requests to the document door must pass: the grants of their users, and the limits of read-only access tokens.
import { randomBytes } from 'node:crypto'
import { Refusal } from '../../base/errors.ts'
import { requireBody, requireJsonObject, requireJsonType } from '../../dialects/document/body.ts'
import { documentRightOf } from '../../dialects/document/rights.ts'
import { type Identity, identityOf } from '../../directory/identity.ts'
import type { Reply, RequestContext, Step } from '../../http/request-context.ts'
import type { AskedDatabase, DocumentDoorCore } from '../module.ts'
import { withHolder } from '../user-databases/holder.ts'
import { type AskedPath, checkAccess, checkRead, findDocumentLevel, isHidden } from './access.ts'
import { findNeed, LISTS } from './endpoints.ts'
import { createListQueue, findList } from './lists.ts'

/** The last two read bodies, after which rights are checked again: that must not lead to them again. */
export function createGrantSteps(core: DocumentDoorCore): readonly Step[] {
  const queue = createListQueue()
  const showList: Run = (context, holder) => findList(context, holder, core, queue)
  return [
    { name: 'database grants', checksRights: true, run: (context) => runWithGrants(context, core, checkGrants) },
    {
      name: 'checkpoints',
      run: (context) => (context.method === 'PUT' ? runWithGrants(context, core, sendCheckpoint) : undefined),
    },
    {
      name: 'database lists',
      run: (context) =>
        LISTS.has(context.path.segments[0] ?? '') ? runWithGrants(context, core, showList) : undefined,
    },
  ]
}

type Run = (context: RequestContext, holder: Identity, core: DocumentDoorCore) => ReturnType<Step['run']>

function runWithGrants(context: RequestContext, core: DocumentDoorCore, run: Run): ReturnType<Step['run']> {
  if (core.settings().document.grants === 'off') return run(context, identityOf(context), core)
  return withHolder(context, core.directory, (holder) => run(context, holder, core))
}

const checkGrants: Run = (context, holder, { settings, database }) => {
  const refusal =
    checkToken(context) ?? (isForwarded(context) ? checkAccess(toAsked(context), holder, settings()) : undefined)
  if (!refusal) return undefined
  const isMissing = refusal.code === 'database_not_found' && isHidden(holder, context.path.segments[0] ?? '')
  // a request that is on its way is not sent again: only its rights are checked
  if (isMissing && database.isSet() && context.forwardedAtMs === undefined) return forwardToMissing(context, database)
  throw refusal
}

const toAsked = (context: RequestContext): AskedPath => ({
  method: context.method,
  segments: context.path.segments,
  header: (name) => context.header(name),
})

const hasReadOnlyToken = (context: RequestContext): boolean =>
  context.authenticated?.credential?.scope?.access === 'ro' && !documentRightOf(context).isUnscoped

/** With and without grants that are enforced. */
const checkToken = (context: RequestContext): Refusal | undefined =>
  hasReadOnlyToken(context) ? checkRead(toAsked(context), 'This access token is read-only.') : undefined

/** Paths that Cardea handles itself, and those of applications, have rules of their own. */
function isForwarded(context: RequestContext): boolean {
  const { route } = context.match ?? {}
  return !route?.methods && !route?.handle && !documentRightOf(context).service
}

/** No database has this name. */
const MISSING = `missing-${randomBytes(16).toString('hex')}`

/**
 * A user who may use all other databases gets what CouchDB says about one that does not exist, with its headers and in
 * its time: a reply of Cardea's own would show that there is one.
 */
const forwardToMissing = (context: RequestContext, database: AskedDatabase): Promise<Reply> =>
  database.forward(context, context.target.replace(/^\/[^/?]*/, `/${MISSING}`))

const sendCheckpoint: Run = (context, holder, { settings, database }) => {
  const { method, path } = context
  const { maxBodyBytes } = findNeed(method, path.segments)
  if (maxBodyBytes === undefined || !isForwarded(context) || !database.isSet()) return undefined
  const isReader = hasReadOnlyToken(context) || findDocumentLevel(holder, path.segments[0] ?? '', settings()) === 'ro'
  return isReader ? forwardCheckpoint(context, database, maxBodyBytes) : undefined
}

const MAX_REPLY_BYTES = 65_536

/** CouchDB gives every other name with an underscore a meaning: `_deleted` deletes the document. */
const SYSTEM_MEMBERS: ReadonlySet<string> = new Set(['_id', '_rev'])

async function forwardCheckpoint(context: RequestContext, database: AskedDatabase, maxBytes: number): Promise<Reply> {
  requireJsonType(context)
  const checkpoint = requireJsonObject((await requireBody(context, maxBytes)).value)
  const isPlain = Object.keys(checkpoint).every((name) => !name.startsWith('_') || SYSTEM_MEMBERS.has(name))
  if (!isPlain)
    throw new Refusal('forbidden', { reason: 'A read-only client may only write checkpoints of replications.' })
  return database.forwardWhole(context, MAX_REPLY_BYTES, await context.readBody())
}
