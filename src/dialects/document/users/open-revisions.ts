import { randomBytes } from 'node:crypto'
import { Refusal } from '../../../base/errors.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import { type Extras, type Leaf, matchRevision, renderLeaf } from './leaf.ts'
import { readJsonParameter } from './query.ts'
import { readRevisionText } from './sent.ts'

export interface OpenOptions {
  readonly extras: Extras
  readonly isLatest: boolean
}

type Opened = { readonly leaf: Leaf } | { readonly missing: string }

const MAX_REVISIONS = 1000

/** The revisions named by `open_revs`, as replicators ask for them: a list, or parts where they accept those. */
export function getOpenRevisions(context: RequestContext, leaf: Leaf | undefined, options: OpenOptions): Reply {
  const opened = openRevisions(leaf, readAsked(context.query), options.isLatest)
  const isParts = /\bmultipart\/mixed\b/.test(context.header('accept') ?? '')
  return isParts ? toParts(opened, options.extras) : toList(opened, options.extras)
}

function readAsked(query: URLSearchParams): readonly string[] | 'all' {
  if (query.get('open_revs') === 'all') return 'all'
  const list = readJsonParameter(query, 'open_revs')
  if (!Array.isArray(list) || list.length > MAX_REVISIONS) {
    throw new Refusal('query_invalid', { about: 'open_revs must be all, or a list of revisions' })
  }
  return list.map((revision) => readRevisionText(revision) ?? '')
}

function openRevisions(leaf: Leaf | undefined, asked: readonly string[] | 'all', isLatest: boolean): readonly Opened[] {
  if (asked === 'all') return leaf ? [{ leaf }] : []
  const opened = new Map<string, Opened>()
  for (const revision of asked) {
    const match = matchRevision(leaf, revision, isLatest)
    // several older ones lead to the same latest one
    opened.set(match?.revision ?? revision, match ? { leaf: match } : { missing: revision })
  }
  return [...opened.values()]
}

function toList(opened: readonly Opened[], extras: Extras): Reply {
  const items = opened.map((item) =>
    'leaf' in item ? `{"ok":${renderLeaf(item.leaf, extras)}}` : JSON.stringify(item),
  )
  return {
    status: 200,
    headers: [
      ['Cache-Control', 'must-revalidate'],
      ['Content-Type', 'application/json'],
    ],
    body: `[${items.join(',')}]\n`,
  }
}

function toParts(opened: readonly Opened[], extras: Extras): Reply {
  const boundary = randomBytes(16).toString('hex')
  const parts = opened.map((item) =>
    'leaf' in item
      ? `\r\nContent-Type: application/json\r\n\r\n${renderLeaf(item.leaf, extras)}\r\n--${boundary}`
      : `\r\nContent-Type: application/json; error="true"\r\n\r\n${JSON.stringify(item)}\r\n--${boundary}`,
  )
  return {
    status: 200,
    headers: [['Content-Type', `multipart/mixed; boundary="${boundary}"`]],
    body: `--${boundary}${parts.join('')}--`,
  }
}
