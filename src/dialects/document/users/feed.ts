import { Refusal } from '../../../base/errors.ts'
import { ANONYMOUS, type Authenticated } from '../../../directory/identity.ts'
import type { Feed, Reply, RequestContext } from '../../../http/request-context.ts'
import { type ChangesQuery, readChangesQuery } from './changes-query.ts'
import { type Batch, type Cursor, createCursor } from './cursor.ts'
import type { UsersDeps } from './deps.ts'
import { type FeedForm, FORMS, renderRows } from './form.ts'
import { createNews, type News } from './news.ts'
import { renderSequence } from './sequence.ts'

/** What changed since, and, as long as the client stays, what changes. */
export async function getChanges(context: RequestContext, deps: UsersDeps): Promise<Reply> {
  const query = await readChangesQuery(context, deps)
  const who = context.authenticated ?? ANONYMOUS
  const cursor = createCursor(deps, query, who.identity)
  const form = FORMS[query.feed]
  // before anything is answered, so that a failure here is still told in words
  const first = await cursor.next()
  const body = followChanges({ deps, query, who, cursor, form, signal: context.signal }, first)
  return { status: 200, headers: form.headers, body }
}

interface Following {
  readonly deps: UsersDeps
  readonly query: ChangesQuery
  readonly who: Authenticated
  readonly cursor: Cursor
  readonly form: FeedForm
  readonly signal: AbortSignal
}

async function* followChanges(following: Following, first: Batch): Feed {
  const { deps, cursor, form, signal } = following
  const news = createNews(deps, following)
  try {
    if (form.head !== '') yield form.head
    yield* pipeTo(following, first, news)
    if (signal.aborted) return
    yield form.tail(renderSequence(cursor.position(), deps.uuid()), await cursor.countPending())
  } finally {
    news.close()
  }
}

async function* pipeTo({ deps, query, cursor, form }: Following, first: Batch, news: News): Feed {
  const { hasDocs } = query
  let isFirst = true
  for (let batch = first; ; batch = await cursor.next()) {
    if (batch.rows.length > 0) {
      yield renderRows(form, batch.rows, { hasDocs, uuid: deps.uuid(), isFirst })
      isFirst = false
      news.restart()
    }
    if (!batch.isEnd) continue
    const isDone = form.waits === 'never' || (form.waits === 'for the first' && !isFirst)
    if (isDone || cursor.isFull() || query.isDescending) return
    if (!(yield* waitForNews(form, news))) return
  }
}

/** Gives signs of life meanwhile. `false`: nothing came for as long as the client wanted to wait. */
async function* waitForNews(form: FeedForm, news: News): AsyncGenerator<string, boolean> {
  for (;;) {
    const outcome = await news.wait()
    if (outcome === 'news') return true
    if (outcome === 'over' || outcome === 'gone') return false
    // a feed that breaks off: the client must not take it for whole, and asks again as whoever it is now
    if (outcome === 'cut') throw new Refusal('authentication_required')
    yield form.beat
  }
}
