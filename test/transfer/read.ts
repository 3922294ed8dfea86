import { toNewUser } from '../../src/directory/users/revisions.ts'
import type { Passkey, User, UserDraft } from '../../src/directory/users/user.ts'
import type { StoredPassword } from '../../src/passwords/schemes.ts'
import { DumpReader, type Found } from '../../src/transfer/dump.ts'
import type { FormatName } from '../../src/transfer/format-names.ts'
import { FORMATS } from '../../src/transfer/formats.ts'

export const ID_PREFIX = 'org.couchdb.user:'

/** All records of a dump. */
export function readDump(input: string | Uint8Array, format: FormatName): readonly Found[] {
  const reader = new DumpReader(format, ID_PREFIX)
  const found = reader.push(Buffer.from(input))
  return [...found, ...reader.end()]
}

/** A file with these users and one administrator, as `cardea export` writes it. */
export function writeDump(users: readonly User[], format: FormatName): string {
  const { head, separator, writeUser, renderTail } = FORMATS[format]
  const texts = users.map((user) => writeUser(user, ID_PREFIX).text)
  const end = renderTail([{ name: 'root', text: '-hashed-x,y' }], [])
  return `${head}${texts.join(separator)}${texts.length > 0 ? '\n' : ''}${end}`
}

/** What was read, without places; refusals by their reasons. */
export const readingsOf = (input: string | Uint8Array, format: FormatName) =>
  readDump(input, format).map(({ reading }) => reading)

/** One record of a format, which must be a user. */
export function readUserOf(record: unknown, format: FormatName) {
  const [reading] = readingsOf(JSON.stringify(record), format)
  if (reading?.kind !== 'user') throw new Error(`no user: ${JSON.stringify(reading)}`)
  return reading
}

/** The reason one record of a format is refused for. */
export function reasonOf(record: unknown, format: FormatName): string | undefined {
  const [reading] = readingsOf(typeof record === 'string' ? record : JSON.stringify(record), format)
  return reading?.kind === 'refused' ? reading.reason : undefined
}

const NO_PASSWORD: StoredPassword = { scheme: 'unusable', reason: 'absent', members: {} }

/** The user a draft becomes if the name was never used. */
export function toUser(draft: UserDraft): User {
  const { password } = draft
  // a new user has a random one
  const sessionEpoch = draft.sessionEpoch ?? { generation: 0, seconds: 0 }
  return toNewUser(
    { ...draft, sessionEpoch },
    password && 'stored' in password ? password.stored : NO_PASSWORD,
    undefined,
  )
}

export const PASSKEY: Passkey = {
  ...{ id: 'AAAA', publicKey: 'BBBB', label: 'laptop', createdAt: 1, rpId: 'localhost' },
  ...{ transports: ['internal'], isSynced: false },
}
