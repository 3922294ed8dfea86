// `cardea livesync`, at a running server.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { CONFIG, makeManaged } from '../support/managed.ts'
import { bySecurity, openPouchdbServer } from '../support/pouchdb-server.ts'
import { basic, send } from '../support/request.ts'
import { UPSTREAM_SECRET } from '../support/upstream.ts'

it('add prints the form of the plug-in, a QR code, and how to remove the device', async (t) => {
  const database = await openPouchdbServer(t, { mayReach: bySecurity })
  const upstream = `[upstream]\ndocument = ${database.url}\ndocument-secret = ${UPSTREAM_SECRET}\n`
  const managed = makeManaged(t, `${CONFIG}${upstream}`)
  const { document } = await managed.serve()
  const first = await managed.cardea(['livesync', 'add', 'vault-ada'])
  assert.equal(first.code, 0, first.stderr)
  const [, token = ''] = /^Password {7}(\S+)$/m.exec(first.stdout) ?? []
  const lines = [
    'URI            https://… of the document door',
    'Username       vault-ada',
    `Password       ${token}`,
    'Database name  vault-ada',
    '',
    'Set console.public-url to that URI, and the next device gets a QR code.',
    'The device is lost: cardea token revoke vault-ada device',
    '',
  ]
  assert.equal(first.stdout, lines.join('\n'))
  assert.equal((await send(document, { path: '/vault-ada', as: basic('vault-ada', token) })).status, 200)
  await managed.cardea(['config', 'set', 'console.public-url', 'https://db.example.org'])
  const second = await managed.cardea(['livesync', 'add', 'vault-ada', '--device', 'phone'])
  assert.match(second.stdout, /^URI {12}https:\/\/db\.example\.org$/m, second.stderr)
  assert.match(second.stdout, /▀.*\n.*The QR code contains the password/s)
  assert.match(second.stdout, /cardea token revoke vault-ada phone\n$/)
  assert.equal((await managed.cardea(['token', 'revoke', 'vault-ada', 'device'])).code, 0)
  assert.equal((await send(document, { path: '/vault-ada', as: basic('vault-ada', token) })).status, 401)
  const again = await managed.cardea(['livesync', 'add', 'vault-ada', '--device', 'phone', '--json'])
  assert.deepEqual([again.code !== 0, JSON.parse(again.stderr).error], [true, 'conflict'])
})
