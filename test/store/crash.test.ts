import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'

const SCRIPT = new URL('../long/crash.ts', import.meta.url).pathname

/** A short run of `npm run test:long -- crash`. */
const ROWS: readonly [row: string, engine: string, kills: number][] = [
  ['the process that writes to SQLite is killed', 'sqlite', 10],
  ['the PostgreSQL that is written to is killed', 'postgres', 2],
]

describe('nothing acknowledged is lost when', () => {
  for (const [row, engine, kills] of ROWS) {
    it(row, async () => {
      const child = spawn(process.execPath, [SCRIPT, engine, String(kills)], { stdio: ['ignore', 'pipe', 'pipe'] })
      let said = ''
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (text) => {
          said += text
        })
      }
      const [code] = await once(child, 'close')
      assert.equal(code, 0, said)
      assert.match(said, /nothing lost/)
    })
  }
})
