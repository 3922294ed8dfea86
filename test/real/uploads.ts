/** curl announces a large body with `Expect: 100-continue`, and waits for the answer. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { makeFolder } from '../support/scope.ts'
import type { Scene } from './in-front.ts'

const run = promisify(execFile)
const UPLOAD_BYTES = 3_000_000

export function testUploads({ url, couchdb, createDatabase, createUser }: Scene): void {
  test('curl -T uploads an attachment of 3 MB with Expect: 100-continue', async (t) => {
    const user = await createUser(`upload-${randomBytes(4).toString('hex')}`)
    const database = await createDatabase(t, { members: { names: [user.name], roles: [] } })
    const content = randomBytes(UPLOAD_BYTES)
    const file = join(makeFolder(t), 'film.bin')
    writeFileSync(file, content)
    const credentials = ['-u', `${user.name}:${user.password}`]
    const expectation = ['-H', 'Expect: 100-continue', '-H', 'Content-Type: application/octet-stream']
    const { stdout, stderr } = await run('curl', [
      ...[
        '-q',
        '-sS',
        '-v',
        '--noproxy',
        '*',
        '--max-time',
        '60',
        '-w',
        '%{http_code}',
        ...credentials,
        ...expectation,
      ],
      ...['-T', file, `${url()}/${database}/film/film.bin`],
    ])
    assert.match(stdout, /201$/, stdout)
    assert.match(stderr, /^< HTTP\/1\.1 100 Continue/m)
    const stored = Buffer.from(await (await couchdb.fetch(`/${database}/film/film.bin`)).arrayBuffer())
    assert.equal(digest(stored), digest(content))
  })

  test('an unauthorised upload gets its response and no 100', async (t) => {
    const database = await createDatabase(t, { members: { names: ['another'], roles: [] } })
    const file = join(makeFolder(t), 'film.bin')
    writeFileSync(file, randomBytes(UPLOAD_BYTES))
    const { stdout } = await run('curl', [
      ...['-q', '-sS', '--noproxy', '*', '--max-time', '60', '-w', '%{http_code}', '-u', 'another:wrong'],
      ...['-H', 'Expect: 100-continue', '-T', file, `${url()}/${database}/film/film.bin`],
    ])
    assert.match(stdout, /401$/)
    assert.equal((await couchdb.fetch(`/${database}/film`)).status, 404)
  })
}

const digest = (data: Buffer): string => createHash('sha256').update(data).digest('hex')
