/** An identity provider on loopback that does what a test tells it: keys, their rotation, absence, wrong documents. */
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
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
export const CLIENT = 'web'
export const CLIENT_SECRET = 'secret-of-the-client'

const toDiscovery = (issuer: string, changed: object): object => ({
  issuer,
  jwks_uri: `${issuer}/keys`,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  end_session_endpoint: `${issuer}/end`,
  id_token_signing_alg_values_supported: ['ES256'],
  authorization_response_iss_parameter_supported: true,
  ...changed,
})

export async function startProvider(scope: Scope) {
  let keys = [createKey('1')]
  let issuer = ''
  const state = {
    isDown: false,
    fetches: 0,
    discovery: {} as object,
    /** More members of its keys. */
    jwk: {} as object,
    /** Claims of the next ID tokens, and parameters of the next responses to browsers. */
    idToken: {} as object,
    response: {} as Record<string, string>,
    clientSecret: CLIENT_SECRET,
    /** Until it resolves, no code is redeemed; and how many wait. */
    held: Promise.resolve(),
    waiting: 0,
  }
  const showKeys = () => {
    state.fetches += 1
    return { keys: keys.map(({ jwk }) => ({ ...jwk, ...state.jwk })) }
  }
  /** The requests of browsers by their code. Each works once. */
  const codes = new Map<string, URLSearchParams>()
  const authorize = (asked: URLSearchParams): string => {
    const code = randomUUID()
    codes.set(code, asked)
    const given = { code, state: asked.get('state') ?? '', iss: issuer, ...state.response }
    return `${asked.get('redirect_uri')}?${new URLSearchParams(given)}`
  }
  const redeem = (sent: URLSearchParams, authorization: string) => {
    const asked = codes.get(sent.get('code') ?? '')
    codes.delete(sent.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(sent.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight = asked?.get('code_challenge') === challenge && asked.get('redirect_uri') === sent.get('redirect_uri')
    // RFC 6749 2.3.1: name and secret are encoded as in a form
    const named = decodeURIComponent(Buffer.from(authorization.slice(6), 'base64').toString())
    if (named !== `${CLIENT}:${state.clientSecret}`) return { error: 'invalid_client' }
    if (!isRight) return { error: 'invalid_grant' }
    const claims = { aud: CLIENT, nonce: asked?.get('nonce'), scope: undefined, ...state.idToken }
    return { access_token: 'opaque', token_type: 'Bearer', id_token: signToken(claims) }
  }
  const server = createServer(async (request, response) => {
    if (state.isDown) return void request.socket.destroy()
    const { pathname, searchParams } = new URL(request.url ?? '', issuer)
    if (pathname === '/authorize') return void response.writeHead(302, { location: authorize(searchParams) }).end()
    response.setHeader('content-type', 'application/json')
    if (pathname === '/keys') return void response.end(JSON.stringify(showKeys()))
    if (pathname !== '/token') return void response.end(JSON.stringify(toDiscovery(issuer, state.discovery)))
    const sent = new URLSearchParams(await text(request))
    state.waiting += 1
    await state.held
    state.waiting -= 1
    const tokens = redeem(sent, request.headers.authorization ?? '')
    response.statusCode = 'error' in tokens ? 400 : 200
    response.end(JSON.stringify(tokens))
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
