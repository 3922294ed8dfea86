/** Opens a store on request, and writes users: node store-writer.ts <url> <prefix> <count>. */
import { once } from 'node:events'
import { type Log, SILENT_LOG } from '../../src/base/log.ts'
import { openStore } from '../../src/store/create-store.ts'
import { createIn } from './store-values.ts'

const [url = '', prefix = '', count = '0'] = process.argv.slice(2)

console.log('ready')
await once(process.stdin, 'data')
let migrations = 0
const log: Log = {
  ...SILENT_LOG,
  info(_message, fields) {
    const { from, to } = { from: 0, to: 0, ...fields }
    migrations += to - from
  },
}
const store = await openStore(url, { log })
for (let i = 0; i < Number(count); i += 1) await createIn(store, `${prefix}-${i}`)
await store.close()
console.log(JSON.stringify({ migrations, written: Number(count) }))
