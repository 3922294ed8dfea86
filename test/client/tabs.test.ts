// What the tabs of an origin tell each other about their session, when messages cross.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Credential, LiveSession } from '../../client/src/credential.ts'
import { SessionKeeper } from '../../client/src/session-keeper.ts'
import { waitUntil } from '../support/wait.ts'

// tabs have an address, and no other program has one
const BASE = 'http://tabs.example/'
Object.assign(globalThis, { location: { href: BASE } })
after(() => void Reflect.deleteProperty(globalThis, 'location'))

const toLive = (name: string): LiveSession => ({
  session: { name, roles: [] },
  expiresAt: Date.now() + 600_000,
  slidingMs: 600_000,
})

/** A tab whose server replies when the test says so. */
function openTab() {
  const reply = Promise.withResolvers<LiveSession | null>()
  const asked = Promise.withResolvers<void>()
  const unused = () => assert.fail('not expected in this test')
  const credential: Credential = {
    send: unused,
    signIn: unused,
    accept: unused,
    renew: () => {
      asked.resolve()
      return reply.promise
    },
    isDue: () => false,
    hasExpired: () => false,
    signOut: unused,
    findCached: unused,
  }
  const keeper = new SessionKeeper(BASE, credential, true)
  const log: string[] = []
  keeper.onChange((change, session) => log.push(`${change} ${session?.name ?? ''}`.trim()))
  return { keeper, log, reply, asked: asked.promise }
}

for (const [change, late] of [
  ['revoked', null],
  ['renewed', toLive('ada')],
] as const)
  test(`a late message that a session was ${change} does not reach a tab with a new one`, async (t) => {
    const [asking, other, witness] = [openTab(), openTab(), openTab()]
    for (const { keeper } of [asking, other, witness]) t.after(() => keeper.close())
    asking.keeper.signedIn({ ...toLive('ada'), expiresAt: Date.now() + 500_000 })
    await waitUntil(() => other.keeper.live !== undefined && witness.keeper.live !== undefined)
    const renewing = asking.keeper.renew()
    await asking.asked
    const before = Date.now()
    await waitUntil(() => Date.now() > before)
    // in one turn: neither tab has seen the message of the other
    asking.reply.resolve(late)
    other.keeper.signedIn(toLive('bob'))
    await renewing
    await waitUntil(() => asking.keeper.live?.session.name === 'bob' && witness.keeper.live?.session.name === 'bob')
    assert.deepEqual(other.log, ['signed_in ada', 'signed_in bob'])
    assert.equal(other.keeper.live?.session.name, 'bob')
  })

test('a tab announces a sign-in when it learns of another user by the renewal of a later tab', async (t) => {
  const tab = openTab()
  t.after(() => tab.keeper.close())
  tab.keeper.signedIn(toLive('ada'))
  const later = new BroadcastChannel(`cardea ${BASE}`)
  t.after(() => later.close())
  later.postMessage({ change: 'renewed', live: toLive('bob'), askedAt: Date.now() })
  await waitUntil(() => tab.keeper.live?.session.name === 'bob')
  assert.deepEqual(tab.log, ['signed_in ada', 'signed_in bob'])
})
