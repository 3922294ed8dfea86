import { randomBytes } from 'node:crypto'
import { Refusal } from '../../../base/errors.ts'
import type { Caller } from '../../../directory/directory.ts'
import { ANONYMOUS } from '../../../directory/identity.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import { toJsonReply } from '../wire.ts'
import { requireSender, requireWriter } from './authorize.ts'
import type { UsersDeps } from './deps.ts'
import { readId, toPath } from './id.ts'
import { findLeaf } from './leaf.ts'
import { readFlag, readJsonBody, requireJsonType } from './query.ts'
import { readRequestRevision } from './revision.ts'
import { readSent, type SentDocument } from './sent.ts'
import { type Written, writeDocument } from './write.ts'

export async function putDocument(context: RequestContext, id: string, deps: UsersDeps): Promise<Reply> {
  requireNewEdits(context)
  requireWriter((context.authenticated ?? ANONYMOUS).identity, readId(id, deps.prefix), deps.settings())
  return write(context, id, readSent(await readJsonBody(context)), deps)
}

export async function postDocument(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  requireJsonType(context)
  requireSender((context.authenticated ?? ANONYMOUS).identity, deps.settings())
  const sent = readSent(await readJsonBody(context))
  return write(context, sent.id ?? randomBytes(16).toString('hex'), sent, deps)
}

export async function deleteDocument(context: RequestContext, id: string, deps: UsersDeps): Promise<Reply> {
  const { identity } = context.authenticated ?? ANONYMOUS
  const leaf = await findLeaf(deps, id, identity)
  if (!leaf) throw new Refusal(identity.name === null ? 'authentication_required' : 'not_found')
  if (leaf.isDeleted) throw new Refusal('deleted')
  return write(context, id, { id, revision: undefined, isDeletion: true, members: new Map() }, deps)
}

async function write(context: RequestContext, id: string, sent: SentDocument, deps: UsersDeps): Promise<Reply> {
  const revision = readRequestRevision(context, sent.revision)
  const who = context.authenticated ?? ANONYMOUS
  const edit = { id, sent: { ...sent, revision }, who, caller: toCaller(context) }
  const written = await writeDocument(deps, { ...edit, requirePassword: () => deps.requirePassword(context) })
  return toWrittenReply(written, sent.isDeletion, deps.database)
}

/** Who waits for a new password to be hashed. */
export const toCaller = ({ signal, client }: RequestContext): Caller => ({ signal, peer: client.address })

function toWrittenReply({ id, rev }: Written, isDeletion: boolean, database: string): Reply {
  const tag = ['ETag', `"${rev}"`] as const
  const place = ['Location', toPath(database, id)] as const
  return toJsonReply(isDeletion ? 200 : 201, { ok: true, id, rev }, isDeletion ? [tag] : [tag, place])
}

/** Revisions are made here: a copy that brings its own would undo what was decided here, a sign-out included. */
export const CLOSED_TO_REPLICATION =
  'Users can be replicated out of this database, not into it: write them with new_edits, or import them.'

function requireNewEdits(context: RequestContext): void {
  if (!readFlag(context.query, 'new_edits', true)) throw new Refusal('forbidden', { about: CLOSED_TO_REPLICATION })
}
