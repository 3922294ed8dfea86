import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { checkPasswordFile, isInPasswordFile } from '../../src/passwords/password-file.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'

const folder = makeFolder(createSharedScope())
const hashOf = (text: string) => createHash('sha1').update(text).digest('hex').toUpperCase()

function writeList(name: string, passwords: readonly string[], toLine = (hash: string, at: number) => `${hash}:${at}`) {
  return writeHashes(name, passwords.map(hashOf).sort().map(toLine))
}

function writeHashes(name: string, lines: readonly string[]): string {
  const path = join(folder, name)
  writeFileSync(path, `${lines.join('\r\n')}\r\n`)
  return path
}

describe('a file of leaked passwords', () => {
  const byHash = new Map(Array.from({ length: 1_000_000 }, (_, at) => [hashOf(`leaked ${at}`), `leaked ${at}`]))
  const hashes = [...byHash.keys()].sort()
  const path = writeHashes('million.txt', hashes)

  it('of a million lines finds those that it has, also the first and the last', async () => {
    for (const hash of [...hashes.slice(0, 100), ...hashes.slice(-100), ...hashes.filter((_, at) => at % 1009 === 0)])
      assert.equal(await isInPasswordFile(path, byHash.get(hash) ?? ''), true, hash)
  })

  it('of a million lines does not find others', async () => {
    for (let at = 0; at < 1000; at += 1) assert.equal(await isInPasswordFile(path, `private ${at}`), false)
  })

  it('can be small, without counts, with small letters, and without a last line end', async () => {
    const words = ['one', 'two', 'three']
    const small = writeList('small.txt', words, (hash) => hash.toLowerCase())
    const open = join(folder, 'open.txt')
    writeFileSync(open, `${hashOf('one')}:1`)
    for (const word of words) assert.equal(await isInPasswordFile(small, word), true, word)
    assert.deepEqual([await isInPasswordFile(open, 'one'), await isInPasswordFile(open, 'two')], [true, false])
  })

  it('of any size finds every line', async () => {
    for (let count = 1; count < 300; count += 23) {
      const words = hashes.slice(0, count)
      const file = writeList(`${count}.txt`, words)
      for (const word of words) assert.equal(await isInPasswordFile(file, word), true, `${count} ${word}`)
      assert.equal(await isInPasswordFile(file, 'private'), false)
    }
  })

  it('that is not there, or has other lines, accepts no password', async () => {
    const text = join(folder, 'text.txt')
    writeFileSync(text, 'password\n'.repeat(5000))
    const line = join(folder, 'line.txt')
    writeFileSync(line, 'x'.repeat(50_000))
    for (const file of [join(folder, 'missing'), folder, text, line])
      await assert.rejects(isInPasswordFile(file, 'one'), { code: 'password_check_failed' }, file)
    assert.equal(checkPasswordFile(path), undefined)
    for (const file of [join(folder, 'missing'), folder, text, line]) assert.ok(checkPasswordFile(file), file)
  })
})
