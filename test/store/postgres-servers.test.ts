import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, it } from 'node:test'
import { Refusal } from '../../src/base/errors.ts'
import { findPrimary, isReplaced, listServers, nameServer, tryServers } from '../../src/store/postgres/servers.ts'

describe('the servers of a URL', () => {
  const rows: readonly (readonly [url: string, servers: readonly string[]])[] = [
    ['postgres://a/db', ['postgres://a/db']],
    ['postgres://u:p@a,b:5433/db', ['postgres://u:p@a/db', 'postgres://u:p@b:5433/db']],
    ['postgresql://a:1,[::1]:2/db?x=1,2', ['postgresql://a:1/db?x=1,2', 'postgresql://[::1]:2/db?x=1,2']],
    ['postgres://u:p,q@a/db', ['postgres://u:p,q@a/db']],
    ['postgres:///db?host=/run', ['postgres:///db?host=/run']],
    ['postgres://a,b,a/db', ['postgres://a/db', 'postgres://b/db']],
    ['postgres://a/db?user=me@b', ['postgres://a/db?user=me@b']],
    ['postgres://u:p%2F@a/db', ['postgres://u:p%2F@a/db']],
    [
      'postgres://a,b?target_session_attrs=read-write',
      ['postgres://a?target_session_attrs=read-write', 'postgres://b?target_session_attrs=read-write'],
    ],
  ]
  for (const [url, servers] of rows) it(url, () => assert.deepEqual(listServers(url), servers))

  for (const url of [
    'postgres://a,,b/db',
    'postgres://a/db?target_session_attrs=any',
    'postgres://a?x=1&target_session_attrs=standby',
  ])
    it(`refuses ${url}`, () => assert.throws(() => listServers(url), { name: 'IncompatibleStoreError' }))

  for (const character of ['/', '?', '#'])
    it(`are not read from a part of the password, after a ${character} in it`, () => {
      const read = () => listServers(`postgres://cardea:12${character}secret@a,b/db`)
      assert.throws(read, { name: 'IncompatibleStoreError', message: /%2F, %3F or %23/ })
      assert.throws(read, ({ message }: Error) => !/12|secret/.test(message))
    })

  it('are named without their password', () => {
    assert.equal(nameServer('postgres://u:secret@a:5433/db'), 'a:5433')
    assert.equal(nameServer('postgres:///db'), 'PostgreSQL')
  })
})

describe('the server to use', () => {
  const at = (timeline: number, isWritable = true, system = 'one') => ({ state: { timeline, isWritable, system } })

  it('accepts writes and was promoted last', () => {
    assert.equal(findPrimary([{ state: undefined }, at(0, false)]), undefined)
    assert.deepEqual(findPrimary([at(1), at(0, false), at(2)]), at(2))
    assert.deepEqual(findPrimary([at(0, false), at(1)]), at(1))
  })

  it('is not one that was replaced, unless it is a copy of another', () => {
    assert.equal(isReplaced(at(1).state, at(2).state), true)
    assert.equal(isReplaced(at(2).state, at(2).state), false)
    assert.equal(isReplaced(at(1, true, 'other').state, at(2).state), false)
    assert.equal(isReplaced(at(1).state, undefined), false)
  })
})

describe('a server that accepts a connection and answers no statement', () => {
  it('is given up after one statement', async (t) => {
    let statements = 0
    // authentication is done, ready for a statement
    const greeting = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])
    const server = createServer((socket) => {
      socket.once('data', () => {
        socket.write(greeting)
        socket.on('data', (chunk) => {
          if (chunk[0] === 0x51) statements += 1
        })
      })
      socket.on('error', () => {})
    })
    t.after(() => server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const [attempt] = await tryServers(`postgres://cardea@127.0.0.1:${port}/db`)
    await attempt?.client.end()
    assert.ok(attempt?.error instanceof Refusal)
    assert.match(attempt.error.detail ?? '', /timeout/)
    assert.equal(statements, 1)
  })
})
