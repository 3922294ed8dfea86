import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const run = promisify(execFile)
const scope = createSharedScope()
const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

const urls: string[] = []
before(async () => {
  const files = { cert_file: fixture('cert.pem'), key_file: fixture('key.pem'), keyfile: fixture('both.pem') }
  const { addresses } = await startServer(scope, {
    ssl: { enable: true, port: 0, ...files },
    server: { endpoint: 'ssl://127.0.0.1:0, tcp://127.0.0.1:0' },
  })
  urls.push(...addresses.document.map((url) => `${url}/_up`))
  urls.push(...addresses.multiModel.map((url) => `${url}/_admin/server/availability`))
})

const ROWS: readonly { command: string; args: readonly string[]; expect: RegExp }[] = [
  {
    command: 'curl',
    args: ['-q', '-sS', '-k', '--noproxy', '*', '--http2-prior-knowledge', '-w', ' %{http_version} %{http_code}'],
    expect: / 2 200$/,
  },
  { command: 'nghttp', args: ['-nv'], expect: /:status: 200/ },
  { command: 'h2load', args: ['-n200', '-c2', '-m20'], expect: /200 succeeded, 0 failed/ },
]

for (const { command, args, expect } of ROWS) {
  const skip = spawnSync(command, ['--version']).error !== undefined && `${command} is not installed`
  test(`${command} speaks HTTP/2 with both doors, with TLS and without`, { skip }, async () => {
    assert.equal(urls.length, 4)
    for (const url of urls) assert.match((await run(command, [...args, url])).stdout, expect, url)
  })
}
