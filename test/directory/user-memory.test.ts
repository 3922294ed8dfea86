import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Stored } from '../../src/directory/store-port.ts'
import { createUserMemory } from '../../src/directory/user-memory.ts'
import { newUser } from '../contract/store-values.ts'

const stored = (sequence: number): Stored => ({ sequence, record: newUser('ada') })

/** A store that answers when it is told to, in any order. */
function createSlowStore() {
  const questions: PromiseWithResolvers<Stored | undefined>[] = []
  const findUser = () => {
    const question = Promise.withResolvers<Stored | undefined>()
    questions.push(question)
    return question.promise
  }
  const answer = (index: number, with_: Stored | undefined) => questions[index]?.resolve(with_)
  return { memory: createUserMemory({ findUser }, () => 10), questions, answer }
}

describe('what is read while a change happens', () => {
  for (const how of ['forgotten by name', 'forgotten with its change', 'cleared'] as const) {
    it(`and is ${how} answers who asked before, and is not kept`, async () => {
      const { memory, questions, answer } = createSlowStore()
      const early = memory.find('ada')
      if (how === 'cleared') memory.clear()
      else memory.forget('ada', ...(how === 'forgotten by name' ? [] : [2]))
      const late = memory.find('ada')
      answer(0, stored(1))
      assert.equal((await early).sequence, 1)
      const later = memory.find('ada')
      answer(1, stored(2))
      assert.deepEqual([(await late).sequence, (await later).sequence], [2, 2])
      assert.equal((await memory.find('ada')).sequence, 2)
      assert.equal(questions.length, 2)
    })
  }

  it('is not kept either where the newer answer came first', async () => {
    const { memory, answer } = createSlowStore()
    const early = memory.find('ada')
    memory.forget('ada')
    const late = memory.find('ada')
    answer(1, stored(2))
    await late
    answer(0, stored(1))
    await early
    assert.equal((await memory.find('ada')).sequence, 2)
  })
})

describe('what is known', () => {
  it('stays when a change is heard of that it holds already', async () => {
    const { memory, questions, answer } = createSlowStore()
    const asked = memory.find('ada')
    answer(0, stored(5))
    await asked
    memory.forget('ada', 5)
    assert.equal((await memory.find('ada')).sequence, 5)
    memory.forget('ada', 6)
    memory.find('ada')
    assert.equal(questions.length, 2)
  })

  it('that there is nobody is kept only where that was asked for', async () => {
    const { memory, questions, answer } = createSlowStore()
    const ask = async (nobody?: 'remember nobody') => {
      const asked = memory.find('eve', nobody)
      answer(questions.length - 1, undefined)
      return asked
    }
    await ask()
    await ask('remember nobody')
    assert.equal((await memory.find('eve')).record, undefined)
    assert.equal(questions.length, 2)
    memory.forget('eve', 1)
    await ask()
    assert.equal(questions.length, 3)
  })

  it('a question that failed is asked again', async () => {
    const { memory, questions, answer } = createSlowStore()
    const failing = memory.find('ada')
    questions[0]?.reject(new Error('no'))
    await assert.rejects(failing)
    const asked = memory.find('ada')
    answer(1, stored(1))
    assert.equal((await asked).sequence, 1)
  })
})
