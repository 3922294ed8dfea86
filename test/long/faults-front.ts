// The server under test of `faults.ts`, in a process of its own, so that its memory can be measured.
import { createTestCardea } from '../../src/index.ts'

const [upstream = ''] = process.argv.slice(2)
const cardea = await createTestCardea({
  options: {
    upstream: {
      document: upstream,
      'document-secret': 'a-secret-of-the-faults-script',
      'multi-model': upstream,
      'multi-model-identity': 'client',
      // an upstream that responds takes less, also on a busy machine
      'first-byte-timeout': 2,
      'connect-timeout': 5,
    },
    door: { 'body-timeout': 2 },
  },
})
const { document, multiModel } = await cardea.listen()

/** Sockets and memory in use when no request is running. */
async function measure() {
  for (let i = 0; i < 5; i += 1) {
    globalThis.gc?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const sockets = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
  return { heapUsed: process.memoryUsage().heapUsed, sockets }
}

process.on('message', async (command) => {
  if (command === 'measure') process.send?.(await measure())
  else await cardea.close().then(() => process.disconnect?.())
})
process.send?.({ document: document[0], multiModel: multiModel[0] })
