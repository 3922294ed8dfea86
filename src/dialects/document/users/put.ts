import { randomBytes } from 'node:crypto'
import { Refusal } from '../../../base/errors.ts'
import type { Caller } from '../../../directory/directory.ts'
import { ANONYMOUS } from '../../../directory/identity.ts'
import type { Exchange, Reply } from '../../../http/request-context.ts'
import { toJsonReply } from '../wire.ts'
import { requireSender, requireWriter } from './authorize.ts'
import { readId, toPath } from './id.ts'
import { findLeaf } from './leaf.ts'
import type { UsersNeeds } from './needs.ts'
import { readFlag, readJsonBody, requireJsonType } from './query.ts'
import { readRequestRevision } from './revision.ts'
import { readSent, type SentDocument } from './sent.ts'
import { type Written, writeDocument } from './write.ts'

export async function putDocument(exchange: Exchange, id: string, needs: UsersNeeds): Promise<Reply> {
  requireNewEdits(exchange)
  requireWriter((exchange.authenticated ?? ANONYMOUS).identity, readId(id, needs.prefix), needs.settings())
  return write(exchange, id, readSent(await readJsonBody(exchange)), needs)
}

export async function postDocument(exchange: Exchange, needs: UsersNeeds): Promise<Reply> {
  requireJsonType(exchange)
  requireSender((exchange.authenticated ?? ANONYMOUS).identity, needs.settings())
  const sent = readSent(await readJsonBody(exchange))
  return write(exchange, sent.id ?? randomBytes(16).toString('hex'), sent, needs)
}

export async function deleteDocument(exchange: Exchange, id: string, needs: UsersNeeds): Promise<Reply> {
  const { identity } = exchange.authenticated ?? ANONYMOUS
  const leaf = await findLeaf(needs, id, identity)
  if (!leaf) throw new Refusal(identity.name === null ? 'authentication_required' : 'not_found')
  if (leaf.isDeleted) throw new Refusal('deleted')
  return write(exchange, id, { id, revision: undefined, isDeletion: true, members: new Map() }, needs)
}

async function write(exchange: Exchange, id: string, sent: SentDocument, needs: UsersNeeds): Promise<Reply> {
  const revision = readRequestRevision(exchange, sent.revision)
  const who = exchange.authenticated ?? ANONYMOUS
  const edit = { id, sent: { ...sent, revision }, who, caller: toCaller(exchange) }
  const written = await writeDocument(needs, { ...edit, requirePassword: () => needs.requirePassword(exchange) })
  return toWrittenReply(written, sent.isDeletion, needs.database)
}

/** Who waits for a new password to be hashed. */
export const toCaller = ({ signal, client }: Exchange): Caller => ({ signal, peer: client.address })

function toWrittenReply({ id, rev }: Written, isDeletion: boolean, database: string): Reply {
  const tag = ['ETag', `"${rev}"`] as const
  const place = ['Location', toPath(database, id)] as const
  return toJsonReply(isDeletion ? 200 : 201, { ok: true, id, rev }, isDeletion ? [tag] : [tag, place])
}

/** Revisions are made here: a copy that brings its own would undo what was decided here, a sign-out included. */
export const CLOSED_TO_REPLICATION =
  'Users can be replicated out of this database, not into it: write them with new_edits, or import them.'

function requireNewEdits(exchange: Exchange): void {
  if (!readFlag(exchange.query, 'new_edits', true)) throw new Refusal('forbidden', { about: CLOSED_TO_REPLICATION })
}
