// With folded names, a user and an administrator whose names differ only in case are created at the same time.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const { document } = await startServer(createSharedScope(), { auth: { names: 'folded' } })
const ROUNDS = 5

const create = async (kind: 'users' | 'administrators', name: string): Promise<number> => {
  const body = { name, password: 'long enough' }
  return (await send(document, { as: AS_ADMIN, method: 'POST', path: `/_cardea/api/${kind}`, body })).status
}

it('only one of them is created', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const statuses = await Promise.all([create('users', `Gus${round}`), create('administrators', `gus${round}`)])
    assert.equal(statuses.filter((status) => status === 200).length, 1, `${statuses}`)
    assert.ok(
      statuses.every((status) => status < 500),
      `${statuses}`,
    )
  }
})
