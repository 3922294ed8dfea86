// The files of the console: their size, and how they are delivered.
import assert from 'node:assert/strict'
import { type IncomingHttpHeaders, request } from 'node:http'
import { describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { buildConsole, listAssets } from '../support/console.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

buildConsole()
const { document } = await startServer(createSharedScope())
const PATHS = listAssets()

/** `fetch` would decode the body. */
function download(path: string, accepted: string) {
  return new Promise<{ headers: IncomingHttpHeaders; bytes: Buffer; status: number }>((resolve, reject) => {
    const sent = request(`${document}${path}`, { headers: { 'Accept-Encoding': accepted } }, async (response) => {
      const bytes = Buffer.concat(await response.toArray())
      resolve({ headers: response.headers, bytes, status: response.statusCode ?? 0 })
    })
    sent.on('error', reject).end()
  })
}

const MAX_BYTES = 120 * 1024
const MAX_FIRST_BYTES = 70 * 1024

/** Compressed. */
async function sumSizes(paths: readonly string[]): Promise<number> {
  const sizes = await Promise.all(paths.map(async (path) => (await download(path, 'br')).bytes.length))
  return sizes.reduce((sum, size) => sum + size, 0)
}

describe('the files of the console', () => {
  it('have at most 120 KiB of script and style, compressed', async () => {
    const total = await sumSizes(PATHS)
    assert.ok(total <= MAX_BYTES, `${total} bytes`)
  })

  it('have at most 70 KiB for the first page, with its charts; each other page is a file of its own', async () => {
    const page = (await download('/_cardea/', 'identity')).bytes.toString()
    const named = PATHS.filter((path) => page.includes(path))
    const others = PATHS.filter((path) => !named.includes(path) && !path.includes('/sign-in-'))
    const overview = others.filter((path) => /\/(?:overview|uPlot)/.test(path))
    assert.equal(named.length, 3)
    assert.equal(overview.length, 2)
    const total = await sumSizes([...named, ...overview])
    assert.ok(total <= MAX_FIRST_BYTES, `${total} bytes`)
    assert.deepEqual(
      others.filter((path) => !overview.includes(path)).filter((path) => !/\/\w+-page-[^/]+\.js$/.test(path)),
      [],
    )
  })

  const CODINGS: readonly [accepted: string, coding: string | undefined, decode: (bytes: Buffer) => Buffer][] = [
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip, br;q=0', 'gzip', gunzipSync],
    ['GZIP', 'gzip', gunzipSync],
    ['identity', undefined, (bytes) => bytes],
    ['', undefined, (bytes) => bytes],
  ]
  for (const [accepted, coding, decode] of CODINGS)
    it(`are sent with ${coding ?? 'no coding'} to a client that accepts "${accepted}"`, async () => {
      for (const path of PATHS) {
        const { headers, bytes } = await download(path, accepted)
        assert.equal(headers['content-encoding'], coding)
        assert.equal(headers['vary'], 'Accept-Encoding')
        const plain = (await download(path, 'identity')).bytes
        assert.ok(decode(bytes).equals(plain))
      }
    })

  it('never change, so that browsers keep them', async () => {
    for (const path of PATHS)
      assert.equal((await download(path, 'br')).headers['cache-control'], 'public, max-age=31536000, immutable')
  })

  it('are the only files there', async () => {
    for (const name of [
      'index.html',
      'none.js',
      '..%2Findex.html',
      '%2Fetc%2Fpasswd',
      `${PATHS[0]?.split('/').at(-1)}.br`,
    ])
      assert.equal((await download(`/_cardea/assets/${name}`, 'br')).status, 404, name)
  })
})
