import assert from 'node:assert/strict'
import { after } from 'node:test'
import { type CardeaOptions, createTestCardea } from '../../../src/index.ts'
import { basic, type Reply, send } from '../../support/request.ts'

export const ANONYMOUS = ''
export const ADMIN = 'admin:adminpw'
const PREFIX = 'org.couchdb.user:'

export interface RequestOptions {
  /** `name:password`. Empty: anonymous. */
  readonly as?: string
  /** Sent as JSON. A string is sent unchanged. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface JsonResponse extends Reply {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape
  readonly json: any
}

/** Starts a server for the tests of a file, with functions to send requests. */
export function createUsersServer(options: CardeaOptions = {}) {
  const started = createTestCardea({ options }).then(async (cardea) => {
    const { document } = await cardea.listen()
    return { cardea, url: document[0] ?? '' }
  })
  after(async () => (await started).cardea.close())

  const ask = async (
    method: string,
    path: string,
    { as = ADMIN, body, headers = {} }: RequestOptions = {},
  ): Promise<JsonResponse> => {
    const answer = await send((await started).url, {
      method,
      path,
      headers: { ...toHeaders(as, body), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { ...answer, json: readBody(answer.body) }
  }
  return {
    started,
    ask,
    /** Puts a user document and returns its revision. */
    async add(name: string, members: Record<string, unknown> = {}): Promise<string> {
      const body = { name, type: 'user', roles: [], password: `${name}-pw`, ...members }
      const answer = await ask('PUT', pathOf(name), { body })
      assert.equal(answer.status, 201, answer.body)
      return answer.json.rev
    },
    get: (name: string, options: RequestOptions = {}) => ask('GET', pathOf(name), options),
    /** Adds members to the stored document. */
    async change(name: string, members: Record<string, unknown>, as = ADMIN): Promise<JsonResponse> {
      const { json } = await ask('GET', pathOf(name), { as: ADMIN })
      return ask('PUT', pathOf(name), { as, body: { ...json, ...members } })
    },
    async signIn(name: string, password: string): Promise<number> {
      return (await ask('GET', '/_session', { as: `${name}:${password}` })).status
    },
  }
}

export const idOf = (name: string): string => `${PREFIX}${name}`
export const pathOf = (name: string): string => `/_users/${PREFIX}${encodeURIComponent(name)}`

function toHeaders(as: string, body: unknown): Record<string, string> {
  const colon = as.indexOf(':')
  return {
    ...(as === '' ? {} : { Authorization: basic(as.slice(0, colon), as.slice(colon + 1)) }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  }
}

function readBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function assertRefused(answer: JsonResponse, status: number, error: string, reason?: string): void {
  const expected = reason === undefined ? { error, reason: answer.json?.reason } : { error, reason }
  assert.deepEqual({ status: answer.status, ...answer.json }, { status, ...expected }, answer.body)
}
