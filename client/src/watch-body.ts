/** A feed that the program no longer reads must not count as open: bodies up to this size are fetched without a reader. */
const AHEAD_BYTES = 65_536

/** Only Node has it. */
const { Buffer } = globalThis as { readonly Buffer?: { from(bytes: ArrayBuffer): unknown } }

/** Returns an equal response. `onEnd` is called when its body has arrived, was cancelled or broke. */
export function watchBody(response: Response, onEnd: () => void): Response {
  const reader = response.body?.getReader()
  if (!reader) {
    onEnd()
    return response
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
          controller.close()
        } catch (error) {
          controller.error(error)
        }
        onEnd()
      },
      cancel(reason) {
        onEnd()
        return reader.cancel(reason)
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: AHEAD_BYTES }),
  )
  const watched = new Response(body, response)
  // PouchDB reads attachments with it in Node
  const buffer = Buffer && { value: async () => Buffer.from(await watched.arrayBuffer()) }
  return Object.defineProperties(watched, { url: { value: response.url }, ...(buffer && { buffer }) })
}
