// Generates any number of different users with the stored passwords of CouchDB.
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { UserWrite } from '../../src/directory/store-port/users.ts'
import { createEmptyUser } from '../../src/directory/users/revisions.ts'
import type { StoredPassword } from '../../src/passwords/schemes.ts'
import { openStore } from '../../src/store/create-store.ts'

const HASH = 'ab'.repeat(32)
const PORTION = 1000

export const nameOf = (index) => `user-${String(index).padStart(7, '0')}`

const passwordOf = (index: number): StoredPassword => ({
  scheme: 'pbkdf2',
  prf: 'sha256',
  iterations: 600_000,
  salt: `salt-${index}`,
  hash: HASH,
})

function* portionsOf(count) {
  for (let from = 0; from < count; from += PORTION) {
    yield Array.from({ length: Math.min(PORTION, count - from) }, (_, offset) => from + offset)
  }
}

/** Writes users directly into a store. */
export async function fillStore(url, count) {
  const store = await openStore(url, { log: SILENT_LOG })
  for (const portion of portionsOf(count)) {
    const writes = portion.map(
      (index): UserWrite => ({
        expected: 'absent',
        record: createEmptyUser(nameOf(index), passwordOf(index)),
      }),
    )
    await store.importUsers(writes)
  }
  await store.close()
}

/** Writes a dump of user documents, one per line. */
export async function writeDump(path, count) {
  const file = createWriteStream(path)
  for (const portion of portionsOf(count)) {
    const lines = portion.map((index) => `${JSON.stringify(toDocument(index))}\n`)
    if (!file.write(lines.join(''))) await once(file, 'drain')
  }
  file.end()
  await finished(file)
}

export const toDocument = (index) => ({
  _id: `org.couchdb.user:${nameOf(index)}`,
  _rev: `1-${HASH.slice(0, 32)}`,
  password_scheme: 'pbkdf2',
  pbkdf2_prf: 'sha256',
  salt: `salt-${index}`,
  iterations: 600_000,
  derived_key: HASH,
  name: nameOf(index),
  type: 'user',
  roles: ['reader'],
  email: `${nameOf(index)}@example.org`,
})
