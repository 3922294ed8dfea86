import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_GRANTS } from '../../src/directory/identity.ts'
import { createUpstreamTokenCache, TOKEN_SECONDS } from '../../src/gateway/identity-headers.ts'

function create() {
  let nowMs = 1_000_000
  let minted = 0
  const cache = createUpstreamTokenCache<string>({ nowMs: () => nowMs })
  return {
    find: (subject: string, version = 'v1', endsIn = Number.POSITIVE_INFINITY) =>
      cache.find({ subject: () => subject, keyVersion: version, endsAt: nowMs / 1000 + endsIn }, (now, until) => {
        minted += 1
        return `${minted}:${until - now}`
      }),
    wait: (seconds: number) => {
      nowMs += seconds * 1000
    },
  }
}

test('reuses a token until it nearly expires', () => {
  const { find, wait } = create()
  assert.equal(find('ada'), `1:${TOKEN_SECONDS}`)
  wait(TOKEN_SECONDS - 61)
  assert.equal(find('ada'), `1:${TOKEN_SECONDS}`)
  wait(1)
  assert.equal(find('ada'), `2:${TOKEN_SECONDS}`)
})

test('keeps a token per subject, and none of another key', () => {
  const { find } = create()
  assert.deepEqual([find('ada'), find('bob'), find('ada')], ['1:300', '2:300', '1:300'])
  assert.equal(find('ada', 'v2'), '3:300')
})

test('no token outlives its credential, and each expiry has its own token', () => {
  const { find, wait } = create()
  assert.equal(find('ada'), '1:300')
  assert.deepEqual([find('ada', 'v1', 3), find('ada', 'v1', 3)], ['2:3', '2:3'])
  assert.deepEqual(
    [find('ada', 'v1', 299), find('ada', 'v1', 300), find('ada', 'v1', 3600)],
    ['3:299', '1:300', '1:300'],
  )
  wait(1)
  assert.deepEqual([find('ada', 'v1', 2), find('ada', 'v1', 3), find('bob', 'v1', 2)], ['2:3', '4:3', '5:2'])
  assert.equal(find('ada', 'v1', 0.4), '6:1', 'the second in which it ends counts')
})

test('the number of tokens is limited', () => {
  const { find } = create()
  for (let i = 0; i < 10_001; i += 1) find(`user ${i}`)
  assert.equal(find('user 0'), '10002:300')
})

test('an identity keeps its token as long as a subject would', () => {
  let nowMs = 1_000_000
  let created = 0
  const cache = createUpstreamTokenCache<number>({ nowMs: () => nowMs })
  const identity = { name: 'ada', roles: [], isAdmin: false, grants: NO_GRANTS }
  const subjects: string[] = []
  const find = (keyVersion = 'v1', endsIn = Number.POSITIVE_INFINITY, of = identity) => {
    const subject = () => `${subjects.push(of.name)}` && of.name
    return cache.find({ identity: of, subject, keyVersion, endsAt: nowMs / 1000 + endsIn }, () => (created += 1))
  }
  assert.deepEqual([find(), find(), subjects.length], [1, 1, 1], 'the subject is asked for once')
  assert.equal(find('v1', undefined, { ...identity }), 1, 'an equal identity has the same token')
  assert.equal(find('v2'), 2, 'another key')
  assert.equal(find('v2', 10), 3, 'a credential that ends earlier')
  assert.equal(find('v2'), 2)
  nowMs += (TOKEN_SECONDS - 61) * 1000
  assert.equal(find('v2'), 2)
  nowMs += 1000
  assert.equal(find('v2'), 4, 'renewed before it expires')
})
