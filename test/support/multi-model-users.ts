// Users for scenarios of the multi-model door, and rows of requests against them.
import assert from 'node:assert/strict'
import type { CardeaOptions } from '../../src/index.ts'
import { type MultiModel, openMultiModel } from './multi-model.ts'
import { AS_ADMIN, type Ask, basic, createAsk } from './request.ts'
import { type Row, type RowsOptions, runRows } from './rows.ts'
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

/** Ann (`apple`) with nothing, Rob (`r`) who may read the system database, Max (`m`) who may write it. */
async function addUsers(ask: Ask): Promise<void> {
  const users = [
    ['ann', 'apple', undefined],
    ['rob', 'r', 'ro'],
    ['max', 'm', 'rw'],
  ] as const
  for (const [user, passwd, grant] of users) {
    assert.equal((await ask('POST', '/_api/user', { as: AS_ADMIN, body: { user, passwd } })).status, 201)
    const path = `/_api/user/${user}/database/_system`
    if (grant) assert.equal((await ask('PUT', path, { as: AS_ADMIN, body: { grant } })).status, 200)
  }
}

/** A server with Ann, Rob and Max. */
export async function openWithUsers(scope: Scope, options: CardeaOptions = {}): Promise<MultiModel> {
  const door = await openMultiModel(scope, options)
  await addUsers(door.ask)
  return door
}

export const ANN = basic('ann', 'apple')
export const ROB = basic('rob', 'r')
export const MAX = basic('max', 'm')

/** Rows against a server with Ann, Rob and Max. */
export const runUserRows = (rows: readonly Row[], options: RowsOptions = {}): void =>
  runRows('multiModel', rows, { ...options, prepare: ({ multiModel }) => addUsers(createAsk(multiModel)) })
