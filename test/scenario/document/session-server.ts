import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { CardeaOptions } from '../../../src/index.ts'
import type { Reply, RequestDetails } from '../../support/request.ts'
import { createUsersServer } from './users-server.ts'

export interface Credentials {
  readonly name?: string
  readonly username?: string
  readonly password?: string
  readonly token?: string
}

/** The identity in a reply of GET /_session. */
export interface Who {
  readonly name: string | null
  readonly roles: readonly string[]
  readonly by: string | undefined
}

export const NO_USER: Who = { name: null, roles: [], by: undefined }
export const HANDLERS = ['jwt', 'proxy', 'cookie', 'default']

/** A server, with functions to sign in and to send requests with a cookie. */
export function createSessionServer(options: CardeaOptions = {}) {
  const server = createUsersServer(options)
  const { ask } = server
  const post = (body: unknown, options: RequestDetails & { readonly query?: string } = {}): Promise<Reply> =>
    ask('POST', `/_session${options.query ?? ''}`, { as: '', body, ...options })
  const fetchIdentity = async (options: RequestDetails = {}): Promise<Who> => {
    const { status, json, body } = await ask('GET', '/_session', { as: '', ...options })
    assert.equal(status, 200, body)
    return { ...json.userCtx, by: json.info.authenticated }
  }
  return {
    ...server,
    post,
    fetchIdentity,
    identifyCookie: (cookie: string) => fetchIdentity({ headers: { Cookie: `AuthSession=${cookie}` } }),
    /** The cookie of a new session. */
    async begin(name: string, password = `${name}-pw`, more: Credentials = {}): Promise<string> {
      const answer = await post({ name, password, ...more })
      assert.equal(answer.status, 200, answer.body)
      return cookieOf(answer)
    },
    end: (cookie: string, options: RequestDetails = {}) =>
      ask('DELETE', '/_session', {
        as: '',
        ...options,
        headers: { ...options.headers, Cookie: `AuthSession=${cookie}` },
      }),
  }
}

/** The only Set-Cookie header. */
export function lineOf(answer: Reply): string {
  const lines = answer.lines['set-cookie'] ?? []
  assert.equal(lines.length, 1, `${answer.status} ${answer.body}`)
  return lines[0] ?? ''
}

export const cookieOf = (answer: Reply): string => /^AuthSession=([^;]*)/.exec(lineOf(answer))?.[1] ?? ''

export const nowSeconds = (): number => Math.floor(Date.now() / 1000)

/** A cookie without a session id, as CouchDB makes it. */
export function mintClassic(
  name: string,
  seconds: number,
  key: { secret: string; salt: string; alg?: string },
): string {
  const head = `${name}:${seconds.toString(16).toUpperCase()}`
  const mac = createHmac(key.alg ?? 'sha256', `${key.secret}${key.salt}`)
    .update(head)
    .digest()
  return Buffer.concat([Buffer.from(`${head}:`), mac]).toString('base64url')
}

const toPart = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token signed with a shared secret. `null` removes a member of the header. */
export function mintJwt(claims: unknown, secret: string, header: Record<string, unknown> = {}): string {
  const members = Object.entries({ alg: 'HS256', typ: 'JWT', ...header }).filter(([, value]) => value !== null)
  const signed = `${toPart(Object.fromEntries(members))}.${toPart(claims)}`
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
}
