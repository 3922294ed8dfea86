// nano, an unmodified CouchDB client.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import nano from 'nano'
import { createUsersServer, idOf } from './users-server.ts'

interface UserDocument extends nano.MaybeDocument {
  name: string
  type: 'user'
  roles: string[]
  password?: string
  nick?: string
}

const server = createUsersServer()
const toUser = (name: string): UserDocument => ({
  _id: idOf(name),
  name,
  type: 'user',
  roles: [],
  password: `${name}-pw`,
})

async function open(user: string, password: string): Promise<nano.DocumentScope<UserDocument>> {
  const url = new URL((await server.started).url)
  Object.assign(url, { username: user, password })
  return nano(url.href.replace(/\/$/, '')).use<UserDocument>('_users')
}

test('nano creates, reads, lists, changes and deletes users', async () => {
  const users = await open('admin', 'adminpw')
  const made = await users.insert(toUser('ada'))
  assert.equal(made.ok, true)
  const ada = await users.get(idOf('ada'))
  const changed = await users.insert({ ...ada, nick: 'A' })
  const bulk = await users.bulk({ docs: [toUser('bob'), toUser('cleo'), toUser('ada')] })
  assert.deepEqual(
    bulk.map(({ error }) => error),
    [undefined, undefined, 'conflict'],
  )
  const list = await users.list({ include_docs: true, startkey: idOf('b') })
  assert.deepEqual(
    list.rows.map(({ doc }) => doc?.name),
    ['bob', 'cleo'],
  )
  const fetched = await users.fetch({ keys: [idOf('cleo'), idOf('ada')] })
  assert.equal(fetched.rows.length, 2)
  await users.destroy(idOf('ada'), changed.rev)
  const { results } = await users.changes({ since: 0 })
  assert.deepEqual(
    results.map(({ id, deleted }) => [id, deleted ?? false]),
    [
      [idOf('bob'), false],
      [idOf('cleo'), false],
      [idOf('ada'), true],
    ],
  )
  assert.equal((await users.info()).doc_count, 2)
})

test('nano as a user: reads its own document and sets a password, sees no other documents', async () => {
  const users = await open('bob', 'bob-pw')
  const own = await users.get(idOf('bob'))
  await assert.rejects(users.get(idOf('cleo')), { statusCode: 404 })
  await assert.rejects(users.list(), { statusCode: 401 })
  await users.insert({ ...own, password: 'new' })
  await assert.rejects(users.get(idOf('bob')), { statusCode: 401 })
  assert.equal((await (await open('bob', 'new')).get(idOf('bob'))).name, 'bob')
})

test('nano follows changes', async () => {
  const users = await open('admin', 'adminpw')
  const seen = new Promise<string>((resolve, reject) => {
    const reader = users.changesReader.start({ since: 'now', wait: false, timeout: 5000 })
    reader.on('change', ({ id }: { id: string }) => {
      users.changesReader.stop()
      resolve(id)
    })
    reader.on('error', reject)
  })
  // the reader starts at "now" at an unknown moment, so changes are made until it has seen one
  const writer = (async () => {
    for (let turn = 0; ; turn += 1) {
      const done = await Promise.race([seen, users.insert(toUser(`later${turn}`)).then(() => undefined)])
      if (done !== undefined) return done
    }
  })()
  assert.match(await writer, /^org\.couchdb\.user:later\d+$/)
})
