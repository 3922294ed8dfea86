// The Cardea that `faults.mjs` breaks things around, in a process of its own so that its memory is its own.
import { createTestCardea } from '../src/index.ts'

const [upstream] = process.argv.slice(2)
const cardea = await createTestCardea({
  options: {
    upstream: {
      document: upstream,
      'document-secret': 'a-secret-of-the-faults-script',
      'multi-model': upstream,
      'multi-model-identity': 'client',
      'first-byte-timeout': 0.3,
      'connect-timeout': 5,
    },
    door: { 'body-timeout': 0.3 },
  },
})
const { document, multiModel } = await cardea.listen()

/** What is still held once nothing is under way. */
async function measure() {
  for (let i = 0; i < 5; i += 1) {
    globalThis.gc?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
  return { heapUsed: process.memoryUsage().heapUsed, sockets }
}

process.on('message', async (word) => {
  if (word === 'measure') process.send?.(await measure())
  else await cardea.close().then(() => process.disconnect())
})
process.send?.({ document: document[0], multiModel: multiModel[0] })
