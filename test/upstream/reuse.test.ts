import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTokenReuse, TOKEN_SECONDS } from '../../src/upstream/reuse.ts'

function create() {
  let nowMs = 1_000_000
  let minted = 0
  const reuse = createTokenReuse({ nowMs: () => nowMs })
  return {
    find: (subject: string, version = 'v1') =>
      reuse.find(subject, version, (now, until) => `${++minted}:${until - now}`),
    wait: (seconds: number) => {
      nowMs += seconds * 1000
    },
  }
}

test('a token is used again until it is nearly over', () => {
  const { find, wait } = create()
  assert.equal(find('ada'), `1:${TOKEN_SECONDS}`)
  wait(TOKEN_SECONDS - 61)
  assert.equal(find('ada'), `1:${TOKEN_SECONDS}`)
  wait(1)
  assert.equal(find('ada'), `2:${TOKEN_SECONDS}`)
})

test('each subject has its own, and another key makes all of them worthless', () => {
  const { find } = create()
  assert.deepEqual([find('ada'), find('bob'), find('ada')], ['1:300', '2:300', '1:300'])
  assert.equal(find('ada', 'v2'), '3:300')
})

test('the memory is bounded', () => {
  const { find } = create()
  for (let i = 0; i < 10_001; i += 1) find(`user ${i}`)
  assert.equal(find('user 0'), '10002:300')
})
