import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gather } from '../../../src/dialects/multi-model/reply.ts'

describe('gather', () => {
  const PIECES = ['ab', 'c', 'ü']
  const open = () => {
    const feed = { isEnded: false, read: 0, pieces: read() }
    async function* read() {
      try {
        for (const piece of PIECES) {
          feed.read += 1
          yield piece
        }
      } finally {
        feed.isEnded = true
      }
    }
    return feed
  }

  it('returns a small stream as one string', async () => {
    assert.equal(await gather(open().pieces, 5), 'abcü')
    assert.equal(await gather((async function* () {})(), 0), '')
  })
  it('returns a larger one as a stream with every piece', async () => {
    for (const most of [0, 2, 4]) {
      const feed = await gather(open().pieces, most)
      assert.ok(typeof feed === 'object')
      const pieces: string[] = []
      for await (const piece of feed) pieces.push(piece)
      assert.deepEqual(pieces, PIECES, `${most} bytes`)
    }
  })
  it('reads no further than needed, and ends the source when the reader stops', async () => {
    const source = open()
    const feed = await gather(source.pieces, 1)
    assert.ok(typeof feed === 'object')
    assert.equal(source.read, 1)
    for await (const _piece of feed) break
    assert.deepEqual([source.read, source.isEnded], [1, true])
  })
  it('rejects if the source fails early', async () => {
    const failing = (async function* (): AsyncGenerator<string> {
      yield 'a'
      throw new Error('gone')
    })()
    await assert.rejects(gather(failing), /gone/)
  })
})
