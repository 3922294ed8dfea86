/**
 * Databases for pages whose reader has one: each verifies the token that Cardea signs, as the real one does, and has the
 * few endpoints the pages use. The pages about CouchDB run in front of a real one as well: see test/real/.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { openPouchdbServer } from '../support/pouchdb-server.ts'
import type { Scope } from '../support/scope.ts'
import { openToken } from '../support/upstream.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, JSON_TYPE).end(`${JSON.stringify(body)}\n`)
}

/** The claims of a valid token. The page creates the file with the secret while it is followed. */
function readClaims(request: IncomingMessage, file: string): Record<string, unknown> | undefined {
  try {
    return openToken(request.headers.authorization, readFileSync(file, 'utf8').trim())
  } catch {
    return undefined
  }
}

export async function openCouchdb(scope: Scope, folder: string): Promise<number> {
  const readSecret = () => readFileSync(join(folder, 'document-secret'), 'utf8').trim()
  return (await openPouchdbServer(scope, { readSecret })).port
}

const VERSION = { server: 'arango', license: 'community', version: '3.12.5' }

export function openArangodb(scope: Scope, folder: string): Promise<number> {
  const server = createServer((request, response) => {
    const claims = readClaims(request, join(folder, 'arangodb-secret'))
    if (claims) void answer(request, response, claims)
    else reply(response, 401, { error: true, code: 401, errorNum: 11 })
  })
  return listen(scope, server)
}

async function answer(request: IncomingMessage, response: ServerResponse, claims: Record<string, unknown>) {
  const path = (request.url ?? '').replace(/^\/_db\/[^/]+/, '')
  if (path === '/_api/version') return reply(response, 200, VERSION)
  if (path === '/_api/cursor' && request.method === 'POST') {
    const { query } = (await json(request)) as { query: string }
    const result = query === 'RETURN CURRENT_USER()' ? [claims['preferred_username']] : []
    return reply(response, 201, { error: false, code: 201, hasMore: false, result })
  }
  reply(response, 404, { error: true, code: 404, errorNum: 404, errorMessage: `unknown path '${path}'` })
}

const REALM = '/realms/shop'
const KEYCLOAK_PATHS = { discovery: '/.well-known/openid-configuration', keys: '/protocol/openid-connect/certs' }

/** A realm of Keycloak with a client, an audience mapper and the user ada, whose password it does not check. */
export async function openKeycloak(scope: Scope): Promise<number> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: '1', alg: 'RS256', use: 'sig' }
  let issuer = ''
  const signToken = () => {
    const iat = Math.floor(Date.now() / 1000)
    const person = { sub: '6e8f1a2b-0000-4000-8000-000000000001', preferred_username: 'ada' }
    const claims = {
      typ: 'Bearer',
      azp: 'app',
      realm_access: { roles: ['editor', 'offline_access'] },
      scope: 'profile',
    }
    const parts = [
      { alg: 'RS256', typ: 'JWT', kid: '1' },
      { iss: issuer, aud: ['cardea', 'account'], iat, exp: iat + 300, ...person, ...claims },
    ]
    const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`
  }
  const server = createServer(({ url }, response) => {
    const path = (url ?? '').replace(REALM, '')
    if (path === KEYCLOAK_PATHS.discovery)
      return reply(response, 200, { issuer, jwks_uri: `${issuer}${KEYCLOAK_PATHS.keys}` })
    if (path === KEYCLOAK_PATHS.keys) return reply(response, 200, { keys: [jwk] })
    reply(response, 200, { access_token: signToken(), expires_in: 300, token_type: 'Bearer' })
  })
  const port = await listen(scope, server)
  issuer = `http://127.0.0.1:${port}${REALM}`
  return port
}

async function listen(scope: Scope, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  scope.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
