import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../src/base/errors.ts'
import type { Topic } from '../../src/base/siblings.ts'
import { Router } from '../../src/cluster/router.ts'
import { type JoinedWorker, joinWorker, joinWorkers } from '../support/siblings.ts'

const GREET: Topic<string, string> = { name: 'greet' }

const forever = () => new Promise<never>(() => {})

function greetAs({ siblings }: JoinedWorker, name: string): void {
  siblings.answer(GREET, (value) => `${name} heard ${value}`)
}

async function joinThree(router?: Router) {
  const workers = await joinWorkers(3, router)
  const [a, b, c] = workers as [JoinedWorker, JoinedWorker, JoinedWorker]
  greetAs(a, 'a')
  greetAs(b, 'b')
  greetAs(c, 'c')
  return { a, b, c }
}

test('tells every other worker, and none the sender itself', async () => {
  const { b } = await joinThree()
  assert.deepEqual(await b.siblings.tellAll(GREET, 'hello'), ['a heard hello', 'c heard hello'])
})

test('a worker without a handler counts as told, and has no answer', async () => {
  const [a, b] = (await joinWorkers(2)) as [JoinedWorker, JoinedWorker]
  assert.deepEqual(await a.siblings.tellAll(GREET, 'hello'), [])
  greetAs(b, 'b')
  assert.deepEqual(await a.siblings.askAll(GREET, 'hello'), ['b heard hello'])
})

test('workers of one server have places, a seed and an instance in common', async () => {
  const router = new Router(2)
  const [a, b] = (await joinWorkers(2, router)) as [JoinedWorker, JoinedWorker]
  assert.deepEqual([a.siblings.place, b.siblings.place, a.siblings.count], [1, 2, 2])
  assert.deepEqual(a.siblings.seed, b.siblings.seed)
  assert.equal(a.siblings.instance, b.siblings.instance)
  a.member.leave()
  assert.equal((await joinWorker(router)).siblings.place, 1, 'the lowest place that no running worker has')
})

test('ends a worker that has not handled what it was told in time, then resolves', async () => {
  const { a, b, c } = await joinThree(new Router(3, { all: 5, soon: 5, first: 5 }))
  c.siblings.answer(GREET, forever)
  assert.deepEqual(await a.siblings.tellAll(GREET, 'hello'), ['b heard hello'])
  assert.deepEqual([b.isKilled(), c.isKilled()], [false, true])
})

test('asks all without those that do not answer soon, and ends none', async () => {
  const { a, b, c } = await joinThree(new Router(3, { all: 5, soon: 5, first: 5 }))
  c.siblings.answer(GREET, forever)
  assert.deepEqual(await a.siblings.askAll(GREET, 'hello'), ['b heard hello'])
  assert.deepEqual([b.isKilled(), c.isKilled()], [false, false])
})

test('the one that has served longest is first, until it leaves or ends', async () => {
  const { a, b, c } = await joinThree()
  const listFirst = () => [a, b, c].map(({ siblings }) => siblings.isFirst())
  assert.deepEqual(listFirst(), [true, false, false])
  assert.equal(await a.siblings.askFirst(GREET, 'hello'), 'a heard hello')
  a.member.setLeaving()
  assert.equal(await c.siblings.askFirst(GREET, 'bye'), 'b heard bye')
  assert.deepEqual(listFirst(), [false, true, false])
  b.member.leave()
  assert.equal(await a.siblings.askFirst(GREET, 'bye'), 'c heard bye')
})

test('a worker that starts is told everything, and is first only if none serves', async () => {
  const router = new Router(3)
  const [a, b, c] = [await joinWorker(router), await joinWorker(router), await joinWorker(router)]
  greetAs(a, 'a')
  greetAs(b, 'b')
  assert.deepEqual(await a.siblings.tellAll(GREET, 'hello'), ['b heard hello'])
  assert.equal(await b.siblings.askFirst(GREET, 'hello'), 'a heard hello')
  b.member.setReady()
  assert.equal(await c.siblings.askFirst(GREET, 'hello'), 'b heard hello')
})

test('asks the next one if the first ends before it answers', async () => {
  const { a, c } = await joinThree()
  a.siblings.answer(GREET, () => {
    a.member.leave()
    return forever()
  })
  assert.equal(await c.siblings.askFirst(GREET, 'hello'), 'b heard hello')
})

test('a first worker that does not answer in time is overloaded', async () => {
  const { a, b } = await joinThree(new Router(3, { all: 5, soon: 5, first: 5 }))
  a.siblings.answer(GREET, forever)
  await assert.rejects(b.siblings.askFirst(GREET, 'hello'), { code: 'overloaded' })
})

test('a first worker that says nothing at all is not the first any longer, and the next one answers', async () => {
  const { a, b, c } = await joinThree(new Router(3, { silent: 5 }))
  a.siblings.answer(GREET, forever)
  assert.deepEqual(await Promise.all([b, c].map(({ siblings }) => siblings.askFirst(GREET, 'hello'))), [
    'b heard hello',
    'b heard hello',
  ])
  assert.deepEqual([a.isKilled(), a.siblings.isFirst()], [false, false])
  b.member.leave()
  c.member.leave()
  a.member.hear()
  await Promise.resolve()
  assert.equal(a.siblings.isFirst(), true)
})

test('a first worker that works, or that is the only one to serve, is waited for', async () => {
  const { a, b } = await joinThree(new Router(3, { silent: 5 }))
  const { promise, resolve } = Promise.withResolvers<void>()
  const says = setInterval(() => a.member.hear(), 1)
  a.siblings.answer(GREET, async () => promise.then(() => 'late'))
  setTimeout(resolve, 30)
  assert.equal(await b.siblings.askFirst(GREET, 'hello'), 'late')
  clearInterval(says)
  const router = new Router(2, { silent: 5 })
  const [alone, starting] = [await joinWorker(router), await joinWorker(router)]
  alone.member.setReady()
  alone.siblings.answer(GREET, () => new Promise((answer) => setTimeout(answer, 30, 'alone')))
  assert.equal(await starting.siblings.askFirst(GREET, 'hello'), 'alone')
})

test('a refusal of another worker is one here', async () => {
  const { a, b } = await joinThree()
  const refusal = { code: 'too_many_requests', retryAfterSeconds: 7, detail: 'guesses' } as const
  a.siblings.answer(GREET, () => {
    throw new Refusal(refusal.code, refusal)
  })
  await assert.rejects(b.siblings.askFirst(GREET, 'hello'), (error) => {
    assert.ok(error instanceof Refusal)
    assert.partialDeepStrictEqual({ ...error }, refusal)
    return true
  })
  await assert.rejects(b.siblings.tellAll(GREET, 'hello'), { code: 'too_many_requests' })
})

test('a defect of another worker is an internal error here', async () => {
  const { a, b } = await joinThree()
  a.siblings.answer(GREET, () => {
    throw new TypeError('a defect')
  })
  await assert.rejects(b.siblings.askFirst(GREET, 'hello'), { code: 'internal' })
})
