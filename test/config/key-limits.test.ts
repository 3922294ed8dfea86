// The lines of `[jwt_key_limits]`.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readKeyLimits } from '../../src/config/key-limits.ts'
import { allowsName, keepRoles } from '../../src/keys/key-limits.ts'
import { read } from './given.ts'

const ofLine = (line: string) => {
  const { settings, problems } = read({ argv: ['--jwt_key_limits.hmac:a', line] })
  return { limits: readKeyLimits(settings.open.jwt_key_limits).get('hmac:a'), problems }
}

for (const [line, names, roles] of [
  ['names=ada', { ada: true, adam: false, Ada: false, '': false }, []],
  ['names=ada,phone-*', { ada: true, 'phone-': true, 'phone-1': true, phone: false }, []],
  ['names=*', { ada: true }, []],
  ['roles=editor', { ada: true }, ['editor']],
  ['roles=ed*', { ada: true }, ['editor', 'edge']],
  ['roles=*', { ada: true }, ['editor', 'edge', 'a b', 'a,b']],
  ['roles=*,_admin', { ada: true }, ['editor', 'edge', '_admin', 'a b', 'a,b']],
  ['roles=_ad*', { ada: true }, []],
  ['roles=a%20b,a%2Cb', { ada: true }, ['a b', 'a,b']],
  ['roles=  names=ada', { ada: true, bob: false }, []],
  ['names=x%2A', { 'x*': true, xy: false }, []],
  ['names=', { ada: false }, []],
] as const)
  test(`${line} allows what it says`, () => {
    const { limits, problems } = ofLine(line)
    assert.deepEqual(problems, [])
    assert.ok(limits)
    for (const [name, isAllowed] of Object.entries(names)) assert.equal(allowsName(limits, name), isAllowed, name)
    assert.deepEqual(keepRoles(limits, ['editor', 'edge', '_admin', 'a b', 'a,b']), roles)
  })

for (const [line, until] of [
  ['until=2027-01-31', Date.UTC(2027, 0, 31)],
  ['until=2027-01-31T12:30Z', Date.UTC(2027, 0, 31, 12, 30)],
  ['until=2027-01-31T12:30:59Z', Date.UTC(2027, 0, 31, 12, 30, 59)],
] as const)
  test(`${line} is a time`, () => assert.equal(ofLine(line).limits?.until, until / 1000))

for (const line of [
  '',
  'ada',
  'names',
  'name=ada',
  'names=ada names=bob',
  'names=ada,',
  'names=a*b',
  'names=**',
  'names=%zz',
  'roles=,',
  'until=tomorrow',
  'until=2027-13-01',
  'until=2027-02-31',
  'until=2027-01-31T12:30',
  'names=ada; roles=x y',
])
  test(`"${line}" is no limit`, () => {
    const { limits, problems } = ofLine(line)
    assert.equal(limits, undefined)
    assert.deepEqual(
      problems.map(({ kind }) => kind),
      ['bad-value'],
    )
    assert.match(problems[0]?.message ?? '', /^\[jwt_key_limits\] hmac:a: expected names=NAME/)
  })

test('limits are those of a key, not of a key set', () => {
  const { problems } = read({ argv: ['--jwt_key_limits.jwks:a', 'names=ada', '--jwt_key_limits.hamc:a', 'names=ada'] })
  assert.deepEqual(
    problems.map(({ kind, message, nearest }) => [kind, message.slice(0, 40), nearest]),
    [
      ['unknown-option', '[jwt_key_limits] jwks:a: the name of a k', undefined],
      ['unknown-option', '[jwt_key_limits] hamc:a: the name of a k', 'hmac:a'],
    ],
  )
})
