import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

// `npm run test:long` has goals for the latency of the other requests, on a machine that is idle. Here all of them get a
// response, and what does not depend on the load of the machine stays below a limit.

const run = promisify(execFile)
const toScript = (name: string): string => fileURLToPath(new URL(`../long/attacks/${name}.ts`, import.meta.url))

it('hostile bodies of anonymous clients, short run: other requests are served, memory stays bounded', async () => {
  const args = [toScript('bodies'), '--json', '--seconds', '0.5', '--connections', '4', '--bytes', '2097152']
  const { during, attacked, memoryMiB } = JSON.parse((await run(process.execPath, args)).stdout)
  assert.equal(during.requests, 50)
  assert.ok(attacked >= 4, `${attacked} hostile requests`)
  // bodies of 8 MB took hundreds of MiB
  assert.ok(memoryMiB.most - memoryMiB.before < 200, JSON.stringify(memoryMiB))
})

it('hostile frames of HTTP/2, short run: no connection holds the server for long, memory stays bounded', async () => {
  const ways = 'resets,provoked,continued,bombs,settings,pings,windows,idle,unread'
  const rows = ['--seconds', '0.2', '--connections', '10', '--listeners', 'document', '--ways', ways, '--one-server']
  const { stdout } = await run(process.execPath, [toScript('http2'), '--json', ...rows]).catch((error) => error)
  const attacks = JSON.parse(stdout).filter(({ name }: { readonly name: string }) => name !== 'none')
  assert.equal(attacks.length, 9)
  for (const row of attacks) {
    assert.ok(row.requests > 0, JSON.stringify(row))
    assert.ok(row.failed === 0 && row.turnMs < 250 && row.memoryMiB < 400, JSON.stringify(row))
  }
})

it('pipelined requests of anonymous clients, short run: other requests are served, memory stays bounded', async () => {
  const target = ['--listeners', 'document,metrics-tls', '--ways', 'ignore,bodies', '--one-server']
  const args = [toScript('pipelining'), '--json', '--seconds', '0.2', '--connections', '10', ...target]
  // it exits with 1 if a goal for an idle machine is missed
  const { stdout } = await run(process.execPath, args).catch((error) => error)
  const attacks = JSON.parse(stdout).filter(({ name }: { readonly name: string }) => name !== 'none')
  assert.equal(attacks.length, 4)
  for (const row of attacks) {
    assert.ok(row.requests > 0, JSON.stringify(row))
    assert.ok(row.failed === 0 && row.turnMs < 250 && row.memoryMiB < 400, JSON.stringify(row))
  }
})
