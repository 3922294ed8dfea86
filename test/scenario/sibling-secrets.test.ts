// Workers of one server have the same random secrets, so that each accepts what another has issued.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { deriveSecret } from '../../src/base/siblings.ts'
import { deriveTicketKeys } from '../../src/http/session-tickets.ts'
import { derivePrivateKey } from '../../src/keys/new-secret.ts'
import { connectPostgres } from '../store/postgres-server.ts'
import { basic, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { type SiblingServer, startSiblings } from '../support/sibling-servers.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
const cert = readFileSync(fixture('cert.pem'), 'utf8')
const key = readFileSync(fixture('key.pem'), 'utf8')

const scope = createSharedScope()
const postgres = await connectPostgres()
scope.after(() => postgres.stop())

type Version = 'TLSv1.2' | 'TLSv1.3'

function open(url: string, maxVersion: Version, session?: Buffer): TLSSocket {
  const { hostname, port } = new URL(url)
  const address = { host: hostname, port: Number(port), servername: 'localhost' }
  return connect({ ...address, maxVersion, rejectUnauthorized: false, ...(session && { session }) })
}

/** The ticket of TLS 1.3 follows the handshake. */
async function takeTicket(url: string, version: Version): Promise<Buffer> {
  const socket = open(url, version)
  const [ticket] = await once(socket, 'session')
  socket.destroy()
  return ticket
}

async function isResumed(url: string, version: Version, ticket: Buffer): Promise<boolean> {
  const socket = open(url, version, ticket)
  await once(socket, 'secureConnect')
  const isReused = socket.isSessionReused()
  socket.destroy()
  return isReused
}

describe('random secrets of workers', () => {
  let servers: readonly [SiblingServer, SiblingServer]
  const secure = ({ addresses }: SiblingServer) => addresses.document[1] ?? assert.fail('no listener with TLS')
  before(async () => {
    const ssl = { enable: true, port: 0, cert_file: fixture('cert.pem'), key_file: fixture('key.pem') }
    const options = {
      store: { url: await postgres.createPlace() },
      ssl,
      chttpd_auth: { iterations: 1, secret: '' },
    }
    const [one, other] = await startSiblings(scope, 2, { options })
    servers = [one ?? assert.fail(), other ?? assert.fail()]
  })

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
    it(`one resumes a session of ${version} that the other has opened`, async () => {
      const [one, other] = servers
      const ticket = await takeTicket(secure(one), version)
      assert.equal(await isResumed(secure(other), version, ticket), true)
      assert.equal(await isResumed(secure(one), version, ticket), true)
    })

  it('one accepts the tokens of the other', async () => {
    const [one, other] = servers
    const body = { username: 'admin', password: 'adminpw' }
    const { json } = await send(one.multiModel, { method: 'POST', path: '/_open/auth', body })
    const as = `bearer ${json.jwt}`
    assert.equal((await send(other.multiModel, { path: '/_api/version', as })).status, 200)
  })

  it('one accepts the session cookies of the other', async () => {
    const [one, other] = servers
    const body = { name: 'admin', password: 'adminpw' }
    const { headers } = await send(one.document, { method: 'POST', path: '/_session', body })
    const [cookie = ''] = String(headers['set-cookie']).split(';')
    const { json } = await send(other.document, { path: '/_session', headers: { Cookie: cookie } })
    assert.equal(json.userCtx.name, 'admin')
  })

  it('both sign for services with the same key', async () => {
    const keys = await Promise.all(
      servers.map(async ({ document }) => {
        const { json, status } = await send(document, { path: '/.well-known/jwks.json', as: basic('admin', 'adminpw') })
        assert.equal(status, 200)
        return json
      }),
    )
    assert.deepEqual(keys[0], keys[1])
  })
})

describe('a derived secret', () => {
  const seed = Buffer.alloc(32, 1)
  const tls = { cert, key }
  const HOUR_MS = 3_600_000

  it('differs with the seed and the use', () => {
    const all = [deriveSecret(seed, 'a'), deriveSecret(seed, 'b'), deriveSecret(Buffer.alloc(32, 2), 'a')]
    assert.equal(new Set(all.map(String)).size, 3)
    assert.deepEqual(deriveSecret(seed, 'a'), all[0])
  })

  it('is a private key on P-256, the same for the same bytes', () => {
    for (const byte of [0, 1, 255]) {
      const [one, other] = [derivePrivateKey(Buffer.alloc(48, byte)), derivePrivateKey(Buffer.alloc(48, byte))]
      assert.ok(one.equals(other))
      assert.equal(one.asymmetricKeyDetails?.namedCurve, 'prime256v1')
    }
  })

  it('is a key of tickets for one hour and for the same settings', () => {
    const first = deriveTicketKeys(seed, tls, 10 * HOUR_MS)
    assert.equal(first.length, 48)
    assert.deepEqual(deriveTicketKeys(seed, tls, 11 * HOUR_MS - 1), first)
    assert.notDeepEqual(deriveTicketKeys(seed, tls, 11 * HOUR_MS), first)
    const clients = { certificates: [cert], revocations: [] }
    assert.notDeepEqual(deriveTicketKeys(seed, { ...tls, clients }, 10 * HOUR_MS), first)
  })
})
