import { createHmac, type KeyObject, sign } from 'node:crypto'
import type { Cardea, CardeaOptions } from '../../src/index.ts'
import { type Ask, createAsk } from './request.ts'
import type { Scope } from './scope.ts'
import { startServer } from './server.ts'

export interface MultiModel {
  readonly url: string
  readonly document: string
  readonly cardea: Cardea
  readonly ask: Ask
  /** Signs in and gives the value of `Authorization` that follows from it. */
  signIn(username: string, password: string): Promise<string>
}

/** The secret `createTestCardea` signs with. */
export const SECRET = 'cardea-test-token-secret'
export const now = (): number => Math.floor(Date.now() / 1000)

/** A server of its own, closed with its scope. */
export async function openMultiModel(scope: Scope, options: CardeaOptions = {}): Promise<MultiModel> {
  const { cardea, document, multiModel: url } = await startServer(scope, options)
  const ask = createAsk(url)
  return { url, document, cardea, ask, signIn: (name, password) => signInWith(ask, name, password) }
}

async function signInWith(ask: Ask, username: string, password: string): Promise<string> {
  const answer = await ask('POST', '/_open/auth', { body: { username, password } })
  return `Bearer ${member(answer.json, 'jwt')}`
}

/** A member of a body; the text `undefined` where there is none. */
export const member = (json: unknown, name: string): unknown =>
  typeof json === 'object' && json !== null ? (json as Record<string, unknown>)[name] : undefined

export type Claims = Readonly<Record<string, unknown>>

export interface Signing {
  readonly secret?: string
  readonly header?: Claims
  /** Signs with this private key instead. */
  readonly es256?: KeyObject
}

const toPart = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token signed by another program that knows the secret. */
export function makeToken(claims: unknown, { secret = SECRET, header, es256 }: Signing = {}): string {
  const head = header ?? { alg: es256 ? 'ES256' : 'HS256', typ: 'JWT' }
  const input = `${toPart(head)}.${toPart(claims)}`
  const signature = es256
    ? sign('sha256', Buffer.from(input), { key: es256, dsaEncoding: 'ieee-p1363' }).toString('base64url')
    : createHmac('sha256', secret).update(input).digest('base64url')
  return `${input}.${signature}`
}

export const superuser = (claims: Claims = {}, signing: Signing = {}): string =>
  `Bearer ${makeToken({ iss: 'arangodb', server_id: 'test', exp: now() + 3600, ...claims }, signing)}`

export const userToken = (name: string, claims: Claims = {}, signing: Signing = {}): string =>
  `Bearer ${makeToken({ iss: 'arangodb', preferred_username: name, exp: now() + 3600, ...claims }, signing)}`

/** What a token says, without any check. */
export function readClaims(token: unknown): Claims {
  const [, payload = ''] = String(token).split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString())
}

export const GATE = { error: true, code: 401, errorNum: 11, errorMessage: 'not authorized to execute this request' }
