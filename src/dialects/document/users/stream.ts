import { setImmediate as giveWay } from 'node:timers/promises'
import type { Feed, Reply } from '../../../http/request-context.ts'

/** Pieces are gathered to about this size: a write for each row would cost more than the row. */
const PIECE_CHARACTERS = 16_384

export interface ListParts<T> {
  readonly head: string
  readonly items: Iterable<T> | AsyncIterable<T>
  render(item: T): string | Promise<string>
  readonly tail: string
}

/**
 * A list of any length as JSON, piece by piece as the client takes it. The first piece is made before anything is
 * answered, so that a failure there is still told in words.
 */
export async function toListReply<T>(parts: ListParts<T>): Promise<Reply> {
  const pieces = toPieces(parts)
  const first = await pieces.next()
  return {
    status: 200,
    headers: [
      ['Cache-Control', 'must-revalidate'],
      ['Content-Type', 'application/json'],
    ],
    body: first.done ? '' : resume(first.value, pieces),
  }
}

async function* toPieces<T>({ head, items, render, tail }: ListParts<T>): AsyncGenerator<string, void> {
  let text = head
  let separator = '\n'
  for await (const item of items) {
    text += `${separator}${await render(item)}`
    separator = ',\n'
    if (text.length < PIECE_CHARACTERS) continue
    yield text
    text = ''
    await giveWay()
  }
  yield `${text}\n${tail}`
}

async function* resume(first: string, rest: AsyncGenerator<string, void>): Feed {
  yield first
  yield* rest
}
