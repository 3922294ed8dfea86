import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM } from '../../src/directory/caller.ts'
import { SECURITY_EVENTS } from '../../src/modules.ts'
import { createSecurityEvents } from '../../src/observe/security-events.ts'
import type { SecurityRecord } from '../../src/observe/security-record.ts'
import { createTestClock, openTestNode, setRoles } from '../support/directory.ts'

function createRecorder() {
  const records: SecurityRecord[] = []
  const events = createSecurityEvents({
    rows: SECURITY_EVENTS,
    node: () => 'n1',
    sinks: [(record) => records.push(record)],
  })
  const take = () => records.splice(0).map(({ event, fields }) => [event, fields] as const)
  return { events, take }
}

test('a store that cannot be reached is recorded once, and that it is back with the time it took', async (t) => {
  const { events, take } = createRecorder()
  const clock = createTestClock()
  const node = await openTestNode(t, { events, clock })
  await node.directory.catchUp()
  node.cut()
  await assert.rejects(node.directory.catchUp())
  await assert.rejects(node.directory.catchUp())
  assert.deepEqual(
    take().map(([event]) => event),
    ['store.lost'],
  )
  clock.advance(90)
  node.mend()
  await node.directory.catchUp()
  assert.deepEqual(take(), [['store.back', { seconds: 90 }]])
})

const GRANTED = { subject: 'jo', database: 'shop' }

test('every single grant that a write changes is recorded', async (t) => {
  const { events, take } = createRecorder()
  const { directory } = await openTestNode(t, { events })
  await directory.createUser({ name: 'jo' }, PROGRAM)
  await directory.setGrant('jo', PROGRAM, { database: 'shop' }, 'rw')
  await directory.setGrant('jo', PROGRAM, { database: 'shop' }, 'ro')
  await directory.setGrant('jo', PROGRAM, { database: 'shop', collection: 'orders' }, 'none')
  await directory.setGrant('jo', PROGRAM, { database: 'shop' }, undefined)
  assert.deepEqual(take(), [
    ['user.created', { subject: 'jo' }],
    ['grant.created', { ...GRANTED, access: 'rw' }],
    ['grant.changed', { ...GRANTED, access: 'ro', old: 'rw' }],
    ['grant.created', { ...GRANTED, collection: 'orders', access: 'none' }],
    ['grant.removed', { ...GRANTED, old: 'ro' }],
  ])
})

test('records which parts of a user a write changed, and nothing if it changed none', async (t) => {
  const { events, take } = createRecorder()
  const { directory } = await openTestNode(t, { events })
  await directory.createUser({ name: 'jo', roles: ['a'] }, PROGRAM)
  take()
  await setRoles(directory, 'jo', ['a'])
  assert.deepEqual(take(), [])
  await setRoles(directory, 'jo', ['b'])
  await directory.setActive('jo', PROGRAM, false)
  await directory.signOut('jo', PROGRAM)
  await directory.changeUser('jo', PROGRAM, (user) => ({
    ...user,
    document: { ...user.document, members: [['totp', { key: 'x' }]] },
  }))
  await directory.removeUser('jo', PROGRAM, 'any')
  assert.deepEqual(take(), [
    ['user.changed', { subject: 'jo', changed: ['roles'] }],
    ['user.changed', { subject: 'jo', changed: ['active'] }],
    ['session.revoked', { subject: 'jo', reason: 'user deactivated' }],
    ['session.revoked', { subject: 'jo', reason: 'signed out by a request' }],
    ['user.changed', { subject: 'jo', changed: ['totp'] }],
    ['session.revoked', { subject: 'jo', reason: 'second factor set' }],
    ['user.removed', { subject: 'jo' }],
    ['session.revoked', { subject: 'jo', reason: 'user removed' }],
  ])
})
