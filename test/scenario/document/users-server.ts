import assert from 'node:assert/strict'
import { after } from 'node:test'
import { type CardeaOptions, createTestCardea } from '../../../src/index.ts'
import { basic, type Reply, send } from '../../support/request.ts'

export const ANYBODY = ''
export const ADMIN = 'admin:adminpw'
const PREFIX = 'org.couchdb.user:'

export interface Asked {
  /** `name:password`, or nobody. */
  readonly as?: string
  /** JSON; text is sent as it is. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Told extends Reply {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape
  readonly json: any
}

/** A server of one's own, and short words to speak with it. Closed after the file's tests. */
export function createUsersServer(options: CardeaOptions = {}) {
  const started = createTestCardea({ options }).then(async (cardea) => {
    const { document } = await cardea.listen()
    return { cardea, url: document[0] ?? '' }
  })
  after(async () => (await started).cardea.close())

  const ask = async (method: string, path: string, { as = ADMIN, body, headers = {} }: Asked = {}): Promise<Told> => {
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
    /** Puts a user document; answers with its revision. */
    async add(name: string, members: Record<string, unknown> = {}): Promise<string> {
      const body = { name, type: 'user', roles: [], password: `${name}-pw`, ...members }
      const answer = await ask('PUT', pathOf(name), { body })
      assert.equal(answer.status, 201, answer.body)
      return answer.json.rev
    },
    get: (name: string, asked: Asked = {}) => ask('GET', pathOf(name), asked),
    /** Adds these members to the document there is and puts it back. */
    async change(name: string, members: Record<string, unknown>, as = ADMIN): Promise<Told> {
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

export function assertRefused(answer: Told, status: number, error: string, reason?: string): void {
  const expected = reason === undefined ? { error, reason: answer.json?.reason } : { error, reason }
  assert.deepEqual({ status: answer.status, ...answer.json }, { status, ...expected }, answer.body)
}
