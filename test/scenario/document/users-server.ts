import assert from 'node:assert/strict'
import type { CardeaOptions } from '../../../src/index.ts'
import { type Ask, type Reply, type RequestDetails, send } from '../../support/request.ts'
import { createSharedScope } from '../../support/scope.ts'
import { startServer } from '../../support/server.ts'

export const ANONYMOUS = ''
export const ADMIN = 'admin:adminpw'
const PREFIX = 'org.couchdb.user:'

/** Starts a server for the tests of a file, with functions to send requests. */
export function createUsersServer(options: CardeaOptions = {}) {
  const started = startServer(createSharedScope(), options).then(({ cardea, document }) => ({ cardea, url: document }))
  const ask: Ask = async (method, path, { as = ADMIN, headers, ...more } = {}) => {
    const type = more.body === undefined ? {} : { 'Content-Type': 'application/json' }
    return send((await started).url, { method, path, as, headers: { ...type, ...headers }, ...more })
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
    get: (name: string, options: RequestDetails = {}) => ask('GET', pathOf(name), options),
    /** Adds members to the stored document. */
    async change(name: string, members: Record<string, unknown>, as = ADMIN): Promise<Reply> {
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

export function assertRefused(answer: Reply, status: number, error: string, reason?: string): void {
  const expected = reason === undefined ? { error, reason: answer.json?.reason } : { error, reason }
  assert.deepEqual({ status: answer.status, ...answer.json }, { status, ...expected }, answer.body)
}
