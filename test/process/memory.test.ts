import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const probe = fileURLToPath(new URL('./memory-probe.ts', import.meta.url))
const MIB = 1 << 20

test('random requests to both doors cause no 5xx and no growth of memory', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', probe, '150'], { timeout: 100_000 })
  const { before, after } = JSON.parse(stdout)
  assert.ok(after - before < 6 * MIB, `${(before / MIB).toFixed(1)} MiB before, ${(after / MIB).toFixed(1)} MiB after`)
})
