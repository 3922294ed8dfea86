import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { Feed, Reply } from '../../../http/request-context.ts'
import { JSON_HEADERS } from '../body.ts'

/** Rows are sent in chunks of about this size: one write per row would cost more than the row. */
const CHUNK_CHARACTERS = 16_384

type Items<T> = Iterable<T> | AsyncIterable<T>
type Render<T> = (item: T) => string | Promise<string>

/**
 * Streams a JSON list of any length. The first chunk is rendered before the reply starts, so that an error in it still
 * becomes an error reply.
 */
export async function toListReply<T>(head: string, items: Items<T>, render: Render<T>): Promise<Reply> {
  const chunks = renderChunks(head, items, render)
  const first = await chunks.next()
  return { status: 200, headers: JSON_HEADERS, body: first.done ? '' : resume(first.value, chunks) }
}

async function* renderChunks<T>(head: string, items: Items<T>, render: Render<T>): AsyncGenerator<string, void> {
  let text = head
  let separator = '\n'
  for await (const item of items) {
    text += `${separator}${await render(item)}`
    separator = ',\n'
    if (text.length < CHUNK_CHARACTERS) continue
    yield text
    text = ''
    await yieldToOthers()
  }
  yield `${text}\n]}\n`
}

async function* resume(first: string, rest: AsyncGenerator<string, void>): Feed {
  yield first
  yield* rest
}
