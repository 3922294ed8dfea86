// Cardea as it is measured: in memory, before one upstream. Prints its port and, when asked on its input, its memory.
import { createInterface } from 'node:readline'
import { createTestCardea } from '../../src/index.ts'

const cardea = await createTestCardea({
  options: {
    upstream: { document: process.argv[2], 'document-secret': 'the-secret-the-upstream-shares' },
    jwt_keys: { 'hmac:_default': Buffer.from('the-secret-of-the-measured-tokens').toString('base64') },
    door: { 'max-connections': 4096 },
  },
})
const { document } = await cardea.listen()
process.stdout.write(`${JSON.stringify({ port: Number(new URL(document[0]).port) })}\n`)
process.on('SIGINT', () => process.exit())
createInterface({ input: process.stdin }).on('line', () => {
  globalThis.gc?.()
  process.stdout.write(`${JSON.stringify(process.memoryUsage())}\n`)
})
