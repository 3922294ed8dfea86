import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Stored } from '../../../src/directory/store-port/users.ts'
import { createUserCache } from '../../../src/directory/users/user-cache.ts'
import { newUser } from '../../contract/store-values.ts'

const stored = (sequence: number): Stored => ({ sequence, record: newUser('ada') })

const KNOWN = 5

/** A store that responds when the test says so, in any order. */
function createSlowStore() {
  const questions: PromiseWithResolvers<Stored | undefined>[] = []
  const findUser = () => {
    const question = Promise.withResolvers<Stored | undefined>()
    questions.push(question)
    return question.promise
  }
  const answer = (index: number, with_: Stored | undefined) => questions[index]?.resolve(with_)
  return {
    cache: createUserCache({
      store: { findUser },
      size: () => 10,
      knownTo: () => KNOWN,
    }),
    questions,
    answer,
  }
}

describe('a read during a change', () => {
  for (const how of ['forgotten', 'cleared'] as const) {
    it(`that is ${how} is returned to earlier callers and not cached`, async () => {
      const { cache, questions, answer } = createSlowStore()
      const early = cache.find('ada')
      if (how === 'cleared') cache.clear()
      else cache.forget('ada')
      const late = cache.find('ada')
      answer(0, stored(1))
      assert.equal((await early).sequence, 1)
      const later = cache.find('ada')
      answer(1, stored(2))
      assert.deepEqual([(await late).sequence, (await later).sequence], [2, 2])
      assert.equal((await cache.find('ada')).sequence, 2)
      assert.equal(questions.length, 2)
    })
  }

  it('is not cached if the newer response came first', async () => {
    const { cache, answer } = createSlowStore()
    const early = cache.find('ada')
    cache.forget('ada')
    const late = cache.find('ada')
    answer(1, stored(2))
    await late
    answer(0, stored(1))
    await early
    assert.equal((await cache.find('ada')).sequence, 2)
  })
})

describe('a cached user', () => {
  it('is of a change that was known before the read', async () => {
    const { cache, questions, answer } = createSlowStore()
    for (const sequence of [KNOWN + 1, KNOWN]) {
      const asked = cache.find('ada')
      answer(questions.length - 1, stored(sequence))
      assert.equal((await asked).sequence, sequence)
    }
    assert.equal((await cache.find('ada')).sequence, KNOWN)
    assert.equal(questions.length, 2)
  })

  it('an unknown name is cached only if asked for', async () => {
    const { cache, questions, answer } = createSlowStore()
    const ask = async (unknown?: 'cache unknown') => {
      const asked = cache.find('eve', unknown)
      answer(questions.length - 1, undefined)
      return asked
    }
    await ask()
    await ask('cache unknown')
    assert.equal((await cache.find('eve')).record, undefined)
    assert.equal(questions.length, 2)
    cache.forget('eve')
    await ask()
    assert.equal(questions.length, 3)
  })

  it('a failed read is repeated', async () => {
    const { cache, questions, answer } = createSlowStore()
    const failing = cache.find('ada')
    questions[0]?.reject(new Error('no'))
    await assert.rejects(failing)
    const asked = cache.find('ada')
    answer(1, stored(1))
    assert.equal((await asked).sequence, 1)
  })
})
