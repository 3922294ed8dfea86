import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const SCRIPT = fileURLToPath(new URL('../../scripts/attacks/bodies.mjs', import.meta.url))

it('hostile bodies of anonymous clients, short run: other requests are served, memory stays bounded', async () => {
  const args = [SCRIPT, '--json', '--seconds', '1', '--connections', '4', '--bytes', '2097152']
  const { during, attacked, memoryMiB } = JSON.parse((await run(process.execPath, args)).stdout)
  assert.equal(during.requests, 100)
  assert.ok(attacked > 4, `${attacked} hostile requests`)
  // bodies of 8 MB took seconds each and hundreds of MiB; the limits here leave room for a busy machine
  assert.ok(during.p50 < 500, `p50 of ${during.p50} ms`)
  assert.ok(memoryMiB.most - memoryMiB.before < 200, JSON.stringify(memoryMiB))
})
