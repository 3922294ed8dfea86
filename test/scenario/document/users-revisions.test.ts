import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUsersServer, idOf, pathOf } from './users-server.ts'

const { ask, add, change } = createUsersServer()

const chain = async (name: string): Promise<string[]> => {
  const opened = await ask('GET', `${pathOf(name)}?open_revs=all&revs=true`)
  const { start, ids } = opened.json[0].ok._revisions
  return ids.map((id: string, index: number) => `${start - index}-${id}`)
}

test('a revision lists its ancestors, across deletion and recreation', async () => {
  const revisions = [await add('ada')]
  for (const nick of ['a', 'b', 'b']) revisions.unshift((await change('ada', { nick })).json.rev)
  revisions.splice(0, 1)
  assert.deepEqual(await chain('ada'), revisions)
  revisions.unshift((await change('ada', { password: 'new' })).json.rev)
  revisions.unshift((await ask('DELETE', `${pathOf('ada')}?rev=${revisions[0]}`)).json.rev)
  assert.deepEqual(await chain('ada'), revisions)
  revisions.unshift(await add('ada'))
  assert.deepEqual(await chain('ada'), revisions)
  const diff = await ask('POST', '/_users/_revs_diff', { body: { [idOf('ada')]: revisions } })
  assert.deepEqual(diff.json, {})
})

test('the list of ancestors is bounded', async () => {
  await add('busy')
  for (let turn = 0; turn < 60; turn += 1) await change('busy', { turn })
  assert.equal((await chain('busy')).length, 51)
})
