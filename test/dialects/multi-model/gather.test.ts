import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gather } from '../../../src/dialects/multi-model/gather.ts'

describe('gathering a feed', () => {
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

  it('one that is small is one piece', async () => {
    assert.equal(await gather(open().pieces, 5), 'abcü')
    assert.equal(await gather((async function* () {})(), 0), '')
  })
  it('one that is larger stays a feed, and nothing of it is lost', async () => {
    for (const most of [0, 2, 4]) {
      const feed = await gather(open().pieces, most)
      assert.ok(typeof feed === 'object')
      const pieces: string[] = []
      for await (const piece of feed) pieces.push(piece)
      assert.deepEqual(pieces, PIECES, `${most} bytes`)
    }
  })
  it('is not read further than needed, and ended with who takes it', async () => {
    const source = open()
    const feed = await gather(source.pieces, 1)
    assert.ok(typeof feed === 'object')
    assert.equal(source.read, 1)
    for await (const _piece of feed) break
    assert.deepEqual([source.read, source.isEnded], [1, true])
  })
  it('what fails at once fails before anything is sent', async () => {
    const failing = (async function* (): AsyncGenerator<string> {
      yield 'a'
      throw new Error('gone')
    })()
    await assert.rejects(gather(failing), /gone/)
  })
})
