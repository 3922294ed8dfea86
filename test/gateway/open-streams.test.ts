import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { COOKIE_SESSION } from '../../src/auth/session/account-session.ts'
import { ANONYMOUS, type Authenticated, type Credential } from '../../src/directory/identity.ts'
import { OpenStreams } from '../../src/gateway/open-streams.ts'

const someone = (name: string, more: Partial<Credential> = {}): Authenticated => ({
  identity: { name, roles: [], isAdmin: false, grants: new Map() },
  credential: { kind: COOKIE_SESSION, handler: 'cookie', ...more },
})

function open(authenticated: Authenticated, holds: boolean | Error = true) {
  const stream = {
    authenticated,
    streamEpoch: 0,
    isCut: false,
    revalidate: async () => {
      if (holds instanceof Error) throw holds
      return holds
    },
    cut() {
      stream.isCut = true
    },
    isFeed: false,
    stop: () => stream.cut(),
  }
  return stream
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

const session = (id: string, name = 'ada') => ({ id, name })

test('a session that ends cuts its own streams at once', () => {
  const streams = new OpenStreams()
  const mine = open(someone('ada', { session: session('1') }))
  const other = open(someone('ada', { session: session('2') }))
  streams.add(mine)
  streams.add(other)
  streams.end({ kind: 'session', id: '1', name: 'ada' })
  assert.deepEqual([mine.isCut, other.isCut], [true, false])
})

test('streams of an account that changed are revalidated', async () => {
  const streams = new OpenStreams()
  const [good, bad, failing, foreign] = [
    open(someone('ada')),
    open(someone('ada'), false),
    open(someone('ada'), new Error('the store is unreachable')),
    open(someone('bob'), false),
  ]
  for (const stream of [good, bad, failing, foreign]) streams.add(stream)
  streams.end({ kind: 'account', name: 'ada' })
  await settled()
  assert.deepEqual(
    [good, bad, failing, foreign].map(({ isCut }) => isCut),
    [false, true, true, false],
  )
})

test('when everything ends, or keys change, all streams are revalidated', async () => {
  for (const tell of ['everything', 'keys']) {
    const streams = new OpenStreams()
    const [good, bad] = [open(someone('ada')), open(someone('bob'), false)]
    streams.add(good)
    streams.add(bad)
    if (tell === 'keys') streams.revalidateAll()
    else streams.end({ kind: 'everything' })
    await settled()
    assert.deepEqual([good.isCut, bad.isCut], [false, true], tell)
  }
})

test('a request whose account changed after authentication is revalidated', async () => {
  const streams = new OpenStreams()
  streams.end({ kind: 'account', name: 'ada' })
  const late = open(someone('ada'), false)
  streams.add(late)
  await settled()
  assert.ok(late.isCut)
})

test('an expired token cuts its streams, a session that is renewed does not', () => {
  const streams = new OpenStreams()
  const token = open(someone('ada', { expiresAt: 100 }))
  const cookie = open(someone('ada', { session: session('1') }))
  streams.add(token)
  streams.add(cookie)
  streams.expire(99)
  assert.ok(!token.isCut)
  streams.expire(100)
  assert.deepEqual([token.isCut, cookie.isCut], [true, false])
})

test('a user who expires loses the streams', () => {
  const streams = new OpenStreams()
  const { identity, ...rest } = someone('ada')
  const stream = open({ ...rest, identity: { ...identity, expiresAt: 100 } })
  streams.add(stream)
  streams.expire(99)
  assert.ok(!stream.isCut)
  streams.expire(100)
  assert.ok(stream.isCut)
})

test('an expired access token cuts its streams', () => {
  const streams = new OpenStreams()
  const stream = open(someone('ada', { accessToken: 'x', expiresAt: 100 }))
  streams.add(stream)
  streams.expire(99)
  assert.ok(!stream.isCut)
  streams.expire(100)
  assert.ok(stream.isCut)
})

test('anonymous streams are revalidated with all others', async () => {
  const streams = new OpenStreams()
  const [good, bad] = [open(ANONYMOUS), open(ANONYMOUS, false)]
  const removals = [good, bad].map((stream) => streams.add(stream))
  streams.revalidateAll()
  await settled()
  assert.deepEqual([good.isCut, bad.isCut], [false, true])
  for (const remove of removals) remove()
  assert.equal(streams.size, 0)
})

test('streams are kept until they are removed, in any order', async () => {
  const steps = fc.array(fc.record({ isAdded: fc.boolean(), at: fc.nat(50) }), { maxLength: 200 })
  await fc.assert(
    fc.asyncProperty(steps, async (list) => {
      const streams = new OpenStreams()
      const all: ReturnType<typeof open>[] = []
      const removals = new Map<(typeof all)[number], () => void>()
      for (const { isAdded, at } of list) {
        const stream = isAdded ? open(someone('ada'), false) : [...removals.keys()][at % Math.max(removals.size, 1)]
        if (stream === undefined) continue
        if (isAdded) {
          all.push(stream)
          removals.set(stream, streams.add(stream))
        } else {
          removals.get(stream)?.()
          removals.delete(stream)
        }
      }
      assert.equal(streams.size, removals.size)
      streams.revalidateAll()
      await settled()
      assert.deepEqual(new Set(all.filter(({ isCut }) => isCut)), new Set(removals.keys()))
    }),
    { numRuns: 30 },
  )
})

test('removing a stream twice removes no other', () => {
  const streams = new OpenStreams()
  const [removeFirst, removeSecond] = [open(someone('ada')), open(ANONYMOUS)].map((stream) => streams.add(stream))
  removeFirst?.()
  removeFirst?.()
  assert.equal(streams.size, 1)
  removeSecond?.()
  removeSecond?.()
  assert.equal(streams.size, 0)
})

test('a stop ends feeds first, then everything, also what is added later', () => {
  const streams = new OpenStreams()
  const openOne = (isFeed: boolean) => {
    const stream = Object.assign(open(someone('ada')), { isFeed })
    streams.add(stream)
    return stream
  }
  const [feed, other] = [openOne(true), openOne(false)]
  streams.stop('feeds')
  const [lateFeed, late] = [openOne(true), openOne(false)]
  assert.deepEqual(
    [feed, other, lateFeed, late].map(({ isCut }) => isCut),
    [true, false, true, false],
  )
  streams.stop('all')
  assert.deepEqual(
    [other, late, openOne(false)].map(({ isCut }) => isCut),
    [true, true, true],
  )
})

test('the streams are looked through once for all accounts that change together', async () => {
  const streams = new OpenStreams()
  let looks = 0
  const authenticated = someone('user 999')
  const stream = open(authenticated, false)
  Object.defineProperty(stream, 'authenticated', {
    get() {
      looks += 1
      return authenticated
    },
  })
  streams.add(stream)
  for (let user = 0; user < 1000; user += 1) streams.end({ kind: 'account', name: `user ${user}` })
  await settled()
  assert.ok(stream.isCut)
  assert.ok(looks < 10, `looks: ${looks}`)
})

test('all streams of an account are cut in the turn in which its credentials end', async () => {
  const streams = new OpenStreams()
  const all = Array.from({ length: 500 }, () => open(someone('ada'), false))
  for (const stream of all) streams.add(stream)
  streams.end({ kind: 'account', name: 'ada' })
  await settled()
  assert.ok(all.every(({ isCut }) => isCut))
})

test('settles when the credentials of all streams are checked, and cuts those whose check takes longer', async () => {
  const streams = new OpenStreams()
  const checked = Promise.withResolvers<boolean>()
  const slow = Object.assign(open(someone('ada')), { revalidate: () => checked.promise })
  const good = open(someone('ada'))
  const stuck = Object.assign(open(someone('ada')), { revalidate: () => new Promise<boolean>(() => {}) })
  streams.add(slow)
  streams.end({ kind: 'account', name: 'ada' })
  await settled()
  const settling = streams.settle(60_000)
  checked.resolve(false)
  await settling
  assert.equal(slow.isCut, true)
  streams.add(good)
  streams.add(stuck)
  await streams.settle(1)
  assert.deepEqual([good.isCut, stuck.isCut], [false, true])
})
