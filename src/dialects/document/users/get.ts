/** `GET /_users/{id}`: one document, or the revisions that `open_revs` names. */
import { randomBytes } from 'node:crypto'
import { Refusal } from '../../../base/errors.ts'
import { identityOf } from '../../../directory/identity.ts'
import { TOTP_MEMBER } from '../../../directory/users/user.ts'
import type { Reply, RequestHead, RequestIdentity } from '../../../http/request-context.ts'
import { toTextReply } from '../body.ts'
import type { UsersDeps } from '../deps.ts'
import { type Extras, findVisible, matchRevision, renderDocument, type VisibleDocument } from './document.ts'
import { readFlag, readJsonParameter } from './query.ts'
import { readRevisionText } from './sent.ts'

export async function getDocument(context: RequestHead & RequestIdentity, id: string, deps: UsersDeps): Promise<Reply> {
  const { query } = context
  const reader = identityOf(context)
  if (id.startsWith('_design/') && !reader.isAdmin) throw new Refusal('forbidden', { reason: DESIGN_IS_CLOSED })
  const extras = readExtras(query)
  const isLatest = readFlag(query, 'latest')
  if (query.has('open_revs')) return getOpenRevisions(context, await findVisible(deps, id, reader), extras, isLatest)
  const revision = readRevisionText(query.get('rev') ?? undefined)
  return toReply(context, requireRevision(await findVisible(deps, id, reader), revision, isLatest), extras)
}

const DESIGN_IS_CLOSED = 'Only administrators can view design docs in the users database.'

export function readExtras(query: URLSearchParams): Extras {
  const hasAll = readFlag(query, 'meta')
  return {
    hasRevisions: readFlag(query, 'revs'),
    hasRevisionsInfo: readFlag(query, 'revs_info') || hasAll,
  }
}

function requireRevision(document: VisibleDocument | undefined, revision: string | undefined, isLatest: boolean) {
  const match = revision === undefined ? document : matchRevision(document, revision, isLatest)
  if (!match) throw new Refusal('not_found')
  if (match.isDeleted && revision === undefined) throw new Refusal('deleted')
  return match
}

function toReply(context: RequestHead, document: VisibleDocument, extras: Extras): Reply {
  const tag = toTag(document)
  if (!hasTotp(document) && matchesTag(context.header('if-none-match'), tag)) {
    return {
      status: 304,
      headers: [
        ['ETag', tag],
        ['Cache-Control', 'must-revalidate'],
      ],
    }
  }
  return toTextReply(200, renderDocument(document, extras), [['ETag', tag]])
}

/** The view is part of the tag, so that a cache does not serve the whole document to a reader of the public one. */
const toTag = ({ revision, view }: VisibleDocument): string => `"${revision}${view === 'public' ? '-public' : ''}"`

/**
 * Users see the second factor masked and administrators whole, with one tag, because clients send the tag back as the
 * revision. So the response is never 304: the browser may have the document of the other view.
 */
const hasTotp = ({ members }: VisibleDocument): boolean => members.some(([name]) => name === TOTP_MEMBER)

function matchesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch
    .split(',')
    .map((text) => text.trim().replace(/^W\//, ''))
    .includes(tag)
}

type OpenRevision = { readonly document: VisibleDocument } | { readonly missing: string }

const MAX_REVISIONS = 1000

/** Replicators request revisions this way. The reply is a JSON list, or multipart if the client accepts that. */
function getOpenRevisions(
  context: RequestHead,
  document: VisibleDocument | undefined,
  extras: Extras,
  isLatest: boolean,
): Reply {
  const requested = readOpenRevisions(context.query)
  const revisions = requested === 'all' ? (document ? [{ document }] : []) : matchAll(document, requested, isLatest)
  const isMultipart = /\bmultipart\/mixed\b/.test(context.header('accept') ?? '')
  return isMultipart ? toMultipart(revisions, extras) : toList(revisions, extras)
}

function readOpenRevisions(query: URLSearchParams): readonly string[] | 'all' {
  if (query.get('open_revs') === 'all') return 'all'
  const list = readJsonParameter(query, 'open_revs')
  if (!Array.isArray(list) || list.length > MAX_REVISIONS)
    throw new Refusal('query_invalid', { reason: 'open_revs must be all, or a list of revisions' })
  return list.map((revision) => readRevisionText(revision) ?? '')
}

function matchAll(
  document: VisibleDocument | undefined,
  requested: readonly string[],
  isLatest: boolean,
): readonly OpenRevision[] {
  const found = new Map<string, OpenRevision>()
  for (const revision of requested) {
    const match = matchRevision(document, revision, isLatest)
    // with `latest`, several older revisions match the same document
    found.set(match?.revision ?? revision, match ? { document: match } : { missing: revision })
  }
  return [...found.values()]
}

function toList(revisions: readonly OpenRevision[], extras: Extras): Reply {
  const items = revisions.map((item) =>
    'document' in item ? `{"ok":${renderDocument(item.document, extras)}}` : JSON.stringify(item),
  )
  return toTextReply(200, `[${items.join(',')}]`)
}

function toMultipart(revisions: readonly OpenRevision[], extras: Extras): Reply {
  const boundary = randomBytes(16).toString('hex')
  const parts = revisions.map((item) =>
    'document' in item
      ? `\r\nContent-Type: application/json\r\n\r\n${renderDocument(item.document, extras)}\r\n--${boundary}`
      : `\r\nContent-Type: application/json; error="true"\r\n\r\n${JSON.stringify(item)}\r\n--${boundary}`,
  )
  return {
    status: 200,
    headers: [['Content-Type', `multipart/mixed; boundary="${boundary}"`]],
    body: `--${boundary}${parts.join('')}--`,
  }
}
