// Users for scenarios of the multi-model door, and rows of requests against them.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type MultiModel, openMultiModel } from './multi-model.ts'
import { AS_ADMIN, basic } from './request.ts'
import type { Scope } from './scope.ts'

export const refusal = (code: number, errorNum: number, errorMessage: string) => ({
  error: true,
  code,
  errorNum,
  errorMessage,
})
export const FORBIDDEN = refusal(403, 11, 'forbidden')
export const NOT_OWNER = refusal(403, 403, 'forbidden')
export const NOT_FOUND = refusal(404, 1703, 'user not found')
export const shown = (user: string, members: object = {}, code = 200) => ({
  user,
  active: true,
  extra: {},
  ...members,
  error: false,
  code,
})

type Ask = MultiModel['ask']
type Row = readonly [
  name: string,
  method: string,
  path: string,
  asked: Parameters<Ask>[2],
  status: number,
  json: unknown,
]

/** Ann (`apple`) with nothing, Rob (`r`) who may read the system database, Max (`m`) who may write it. */
export async function openWithUsers(t: Scope, options: Parameters<typeof openMultiModel>[1] = {}) {
  const door = await openMultiModel(t, options)
  const users = [
    ['ann', 'apple', undefined],
    ['rob', 'r', 'ro'],
    ['max', 'm', 'rw'],
  ] as const
  for (const [user, passwd, grant] of users) {
    assert.equal((await door.ask('POST', '/_api/user', { as: AS_ADMIN, body: { user, passwd } })).status, 201)
    const path = `/_api/user/${user}/database/_system`
    if (grant) assert.equal((await door.ask('PUT', path, { as: AS_ADMIN, body: { grant } })).status, 200)
  }
  return door
}

export const ANN = basic('ann', 'apple')
export const ROB = basic('rob', 'r')
export const MAX = basic('max', 'm')

export function runRows(rows: readonly Row[]): void {
  for (const [name, method, path, asked, status, json] of rows) {
    it(name, async (t) => {
      const { ask } = await openWithUsers(t)
      const answer = await ask(method, path, asked)
      assert.deepEqual([answer.status, answer.json], [status, json])
    })
  }
}
