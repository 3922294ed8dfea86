import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM } from '../../../src/directory/caller.ts'
import { openSessions } from '../sessions.ts'

type Opened = Awaited<ReturnType<typeof openSessions>> & { readonly id: string }

const CHANGES: readonly [string, (opened: Opened) => unknown][] = [
  ['its secret was dropped', ({ secrets }) => secrets.replace('another', { dropsEarlier: true })],
  ['its algorithm was removed', ({ set }) => set({ algorithms: ['sha1'] })],
  ['the timeout was lowered', ({ set }) => set({ timeoutSeconds: 50 })],
  ['the longest lifetime was lowered', ({ set }) => set({ maxLifetimeSeconds: 50 })],
  ['it expired', ({ clock }) => clock.advance(600)],
  ['its user has another password', ({ directory }) => directory.setPassword('ada', PROGRAM, { password: 'new' })],
  ['its user signed out everywhere', ({ directory }) => directory.signOut('ada', PROGRAM)],
  ['it was revoked', ({ directory, id }) => directory.endSession({ id, name: 'ada', expiresAt: 1e10 })],
]

for (const [title, change] of CHANGES)
  test(`a cookie that was accepted before is rejected after ${title}`, async (t) => {
    const opened = await openSessions(t)
    await opened.directory.createUser({ name: 'ada', password: { password: 'pw' }, roles: [] }, PROGRAM)
    const cookie = await opened.open('ada')
    opened.clock.advance(60)
    const accepted = await opened.findAccepted(cookie)
    assert.ok(accepted?.credential.session)
    assert.equal((await opened.findAccepted(cookie))?.credential.session?.id, accepted.credential.session.id)
    await change({ ...opened, id: accepted.credential.session.id })
    assert.equal(await opened.findAccepted(cookie), undefined)
  })

test('a cookie that was accepted before is accepted after its secret was replaced', async (t) => {
  const opened = await openSessions(t)
  await opened.directory.createUser({ name: 'ada', password: { password: 'pw' }, roles: [] }, PROGRAM)
  const cookie = await opened.open('ada')
  assert.ok(await opened.findAccepted(cookie))
  opened.secrets.replace('another')
  assert.ok(await opened.findAccepted(cookie))
})
