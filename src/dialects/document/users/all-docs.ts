import { setImmediate as giveWay } from 'node:timers/promises'
import type { Identity } from '../../../directory/identity.ts'
import { listUserPages } from '../../../directory/list-user-pages.ts'
import type { Reply, RequestContext } from '../../../http/request-context.ts'
import type { UsersDeps } from './deps.ts'
import { whoAsks } from './get.ts'
import { toNameRange } from './key-range.ts'
import { findLeaf, type Leaf, renderLeaf, toLeaf } from './leaf.ts'
import { type ListQuery, readListQuery } from './list-query.ts'
import { renderSequence } from './sequence.ts'
import { toListReply } from './stream.ts'

interface Row {
  readonly key: unknown
  readonly leaf: Leaf | undefined
}

/** The documents a reader may see, in the order of their ids, or those of `keys`. */
export async function allDocs(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  const query = await readListQuery(context)
  const who = whoAsks(context)
  const rows = query.keys ? listKeys(deps, query, query.keys, who) : listRange(deps, query, who)
  return toListReply({
    head: await renderHead(deps, query),
    items: query.limit === 0 ? [] : cutOut(rows, query),
    render: (row) => renderRow(row, query.hasDocs),
    tail: ']}\n',
  })
}

async function renderHead({ directory, changes, uuid }: UsersDeps, query: ListQuery): Promise<string> {
  const total = await directory.countUsers()
  // how many come before a key, only counting them would tell
  const offset = query.keys || query.range.start !== undefined ? null : Math.min(query.skip, total)
  const sequence = query.hasSequence ? `"update_seq":${renderSequence(await changes.sequence(), uuid())},` : ''
  return `{"total_rows":${total},${sequence}"offset":${offset},"rows":[`
}

async function* listRange(deps: UsersDeps, { range }: ListQuery, who: Identity): AsyncGenerator<Row, void> {
  const names = toNameRange(range, deps.prefix)
  if (!names) return
  for await (const page of listUserPages(deps.directory, { ...names, descending: range.isDescending })) {
    for (const user of page) {
      const leaf = toLeaf(deps, user, who)
      if (leaf) yield { key: leaf.id, leaf }
    }
    // where nothing is to be shown, nothing else would let others have their turn
    await giveWay()
  }
}

async function* listKeys(
  deps: UsersDeps,
  { range }: ListQuery,
  keys: readonly unknown[],
  who: Identity,
): AsyncGenerator<Row, void> {
  for (const key of range.isDescending ? keys.toReversed() : keys) {
    yield { key, leaf: typeof key === 'string' ? await findLeaf(deps, key, who) : undefined }
  }
}

async function* cutOut(rows: AsyncIterable<Row>, { skip, limit }: ListQuery): AsyncGenerator<Row, void> {
  let index = 0
  for await (const row of rows) {
    index += 1
    if (index > skip) yield row
    if (index >= skip + limit) return
  }
}

function renderRow({ key, leaf }: Row, hasDocs: boolean): string {
  if (!leaf) return JSON.stringify({ key, error: 'not_found' })
  const { id, revision: rev, isDeleted } = leaf
  const row = JSON.stringify({ id, key, value: isDeleted ? { rev, deleted: true } : { rev } })
  return hasDocs ? `${row.slice(0, -1)},"doc":${isDeleted ? 'null' : renderLeaf(leaf)}}` : row
}
