/** An identity provider on loopback that does what a test tells it: keys, their rotation, absence, wrong documents. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Scope } from './scope.ts'

interface Key {
  readonly kid: string
  readonly privateKey: KeyObject
  readonly jwk: object
}

const createKey = (kid: string): Key => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' } }
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const nowSeconds = (): number => Math.floor(Date.now() / 1000)

export const AUDIENCE = 'cardea'

export async function startProvider(scope: Scope) {
  let keys = [createKey('1')]
  let issuer = ''
  const state = { isDown: false, fetches: 0, discovery: {} as object }
  const server = createServer((request, response) => {
    if (state.isDown) return void request.socket.destroy()
    const isKeys = request.url === '/keys'
    if (isKeys) state.fetches += 1
    const document = { issuer, jwks_uri: `${issuer}/keys`, ...state.discovery }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(isKeys ? { keys: keys.map(({ jwk }) => jwk) } : document))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  scope.after(() => {
    server.closeAllConnections()
    server.close()
  })
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  /** Signed by the newest key, unless another one is given. */
  const signToken = (claims: object = {}, header: object = {}, key = keys.at(-1) ?? createKey('none')): string => {
    const now = nowSeconds()
    const whole = { iss: issuer, sub: 'u-1', aud: AUDIENCE, iat: now, exp: now + 300, scope: 'openid', ...claims }
    const signed = `${encode({ alg: 'ES256', typ: 'JWT', kid: key.kid, ...header })}.${encode(whole)}`
    const signature = sign('sha256', Buffer.from(signed), { key: key.privateKey, dsaEncoding: 'ieee-p1363' })
    return `${signed}.${signature.toString('base64url')}`
  }
  return {
    issuer,
    state,
    signToken,
    /** Only the new key is in the set from then on. */
    rotate(kid: string): void {
      keys = [createKey(kid)]
    },
  }
}
