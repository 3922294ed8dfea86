/**
 * Writes to a store without pause, and prints each write after the store has acknowledged it:
 * `node crash-writer.ts <url> <first number> <lanes>`. Ends when the store fails. `crash.ts` kills it.
 */
import { createHash, randomBytes, randomInt } from 'node:crypto'
import { writeSync } from 'node:fs'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { WriteOutcome } from '../../src/directory/store-port/changes.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import type { UserWrite } from '../../src/directory/store-port/users.ts'
import { createEmptyUser, reviseUser } from '../../src/directory/users/revisions.ts'
import { openStore } from '../../src/store/create-store.ts'

/** Records of each kind that each lane writes again and again. */
const RECORDS = 4
const MAX_PADDING = 20_000

const [url = '', first = '0', lanes = '1'] = process.argv.slice(2)

/** One system call for each line, so that a line is written whole or not at all. */
const acknowledge = (kind: string, key: string, number: number, sequence: number): void => {
  writeSync(1, `${kind} ${key} ${number} ${sequence}\n`)
}

async function toWrite(store: Store, name: string, number: number): Promise<UserWrite> {
  const found = await store.findUser(name)
  const before =
    found?.record.kind === 'user' ? found.record : createEmptyUser(name, { scheme: 'simple', salt: '', hash: '' })
  // long enough to span pages, so that a record that is partly written is noticed
  const padding = randomBytes(randomInt(MAX_PADDING)).toString('base64')
  const check = createHash('sha256').update(`${name} ${number} ${padding}`).digest('hex')
  const members = Object.entries({ number, padding, check })
  const record = reviseUser(before, { ...before, document: { ...before.document, members } })
  return { expected: found?.sequence ?? 'absent', record }
}

function sequenceOf(outcome: WriteOutcome | undefined): number {
  if (outcome?.kind === 'written') return outcome.sequence
  throw new Error('a conflict, although only this lane writes this record')
}

type Write = (store: Store, key: string, number: number) => Promise<void>

const WRITES: readonly Write[] = [
  async (store, key, number) => {
    const outcome = await store.writeUser(await toWrite(store, `user-${key}`, number))
    acknowledge('user', key, number, sequenceOf(outcome))
  },
  async (store, key, number) => {
    const pair = await Promise.all(['left', 'right'].map((side) => toWrite(store, `${side}-${key}`, number)))
    const outcomes = await store.importUsers(pair)
    acknowledge('pair', key, number, Math.max(...outcomes.map(sequenceOf)))
  },
  async (store, key, number) => {
    const { sequence } = await store.endSession({ id: `session-${key}`, name: 'alice', expiresAt: number })
    acknowledge('session', key, number, sequence)
  },
  async (store, key, number) => {
    const setting = { section: 'crash', key, text: String(number), nowSeconds: number }
    acknowledge('setting', key, number, sequenceOf(await store.setSetting(setting)))
  },
]

async function runLane(store: Store, lane: number): Promise<void> {
  for (let number = Number(first); ; number += 1) {
    const write = WRITES[randomInt(WRITES.length)]
    await write?.(store, `${lane}-${randomInt(RECORDS)}`, number)
  }
}

try {
  const store = await openStore(url, { log: SILENT_LOG })
  await Promise.all(Array.from({ length: Number(lanes) }, (_, lane) => runLane(store, lane)))
} catch (error) {
  // the store was killed: writes under way in other lanes stay unacknowledged
  writeSync(2, `${error instanceof Error ? `${error.message} ${'detail' in error ? error.detail : ''}` : error}\n`)
  process.exit(3)
}
