/** What is larger goes out as it comes: it may be more than fits into memory. */
const MAX_BYTES = 1 << 20

/** A feed as one piece where it is small, so that its length is told; else the feed, from its beginning. */
export async function gather(
  feed: AsyncIterable<string>,
  mostBytes = MAX_BYTES,
): Promise<string | AsyncIterable<string>> {
  const rest = feed[Symbol.asyncIterator]()
  const pieces: string[] = []
  let bytes = 0
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    pieces.push(next.value)
    bytes += Buffer.byteLength(next.value)
    if (bytes > mostBytes) return resume(pieces, rest)
  }
  return pieces.join('')
}

async function* resume(pieces: readonly string[], rest: AsyncIterator<string>): AsyncGenerator<string> {
  try {
    yield* pieces
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
