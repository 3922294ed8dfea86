import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { afterEach, it } from 'node:test'
import {
  describeMissing,
  INTERNAL_NAMES,
  isInternalUsable,
  probeInternals,
} from '../../../src/base/node-internals/probes.ts'

afterEach(() => probeInternals())

it('this Node has everything that Cardea uses of its internals', () => {
  probeInternals()
  assert.deepEqual(describeMissing(), [])
})

/** A member of Node's sockets that is not as expected. */
const BROKEN: readonly [member: string, value: unknown, missing: string][] = [
  ['_write', undefined, 'late-write-errors'],
  [
    'connect',
    () => {
      throw new Error('no handle')
    },
    'unsent-bytes',
  ],
]

for (const [member, value, missing] of BROKEN)
  it(`a socket whose ${member} is not as expected lacks ${missing}`, (t) => {
    const before = Object.getOwnPropertyDescriptor(Socket.prototype, member)
    Object.defineProperty(Socket.prototype, member, { value, configurable: true, writable: true })
    t.after(() => {
      if (before) Object.defineProperty(Socket.prototype, member, before)
      else Reflect.deleteProperty(Socket.prototype, member)
      probeInternals()
    })
    probeInternals()
    assert.ok(INTERNAL_NAMES.filter((name) => !isInternalUsable(name)).includes(missing as never))
  })

it('a version of Node that was not tested keeps the settings of V8, and the messages of worker processes', (t) => {
  const versions = process.versions
  Object.defineProperty(process, 'versions', { value: { ...versions, node: '99.0.0' }, configurable: true })
  // files that follow in this process look for internals as this one leaves them
  t.after(() => {
    Object.defineProperty(process, 'versions', { value: versions, configurable: true })
    probeInternals()
  })
  probeInternals()
  assert.deepEqual(
    INTERNAL_NAMES.filter((name) => !isInternalUsable(name)),
    ['unconfirmed-connections', 'v8-flags'],
  )
})
