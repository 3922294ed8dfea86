/** All bytes of a stream; `undefined`: there are more than `maxBytes`. */
export async function gatherBytes(stream: AsyncIterable<Uint8Array>, maxBytes: number) {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // leaving the loop ends the stream
  for await (const chunk of stream) {
    bytes += chunk.length
    if (bytes > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
