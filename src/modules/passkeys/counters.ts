/** Signature counters. An authenticator that counts, and whose counter goes back, may have been copied. */
import { type Passkey, toPasskeyKey, type UserRecord } from '../../directory/users/user.ts'
import { type Engine, manyKeys, one, type StoreSteps } from '../../store/engine.ts'
import type { UserTurn } from '../../store/operations/users.ts'
import { toStatements } from '../../store/statements.ts'

const STATEMENTS = toStatements(
  {
    findCounter: 'SELECT counter FROM cardea_passkey_counters WHERE passkey = $1',
    putCounter: `INSERT INTO cardea_passkey_counters (passkey, counter) VALUES ($1, $2)
      ON CONFLICT (passkey) DO UPDATE SET counter = excluded.counter
      WHERE excluded.counter > cardea_passkey_counters.counter RETURNING counter`,
    removeCounter: 'DELETE FROM cardea_passkey_counters WHERE passkey = $1 RETURNING passkey',
  },
  'passkeys.',
)

/** Whether the counter went back, or was used before. Most passkeys have none: it is always 0, and never stored. */
export async function noteCounter(engine: Engine, passkey: Passkey, counter: number): Promise<boolean> {
  const key = toPasskeyKey(passkey)
  if (counter === 0) return (await engine.ask(one(STATEMENTS.findCounter, key))).length > 0
  // one statement: of two processes that see the same counter, one writes it
  return (await engine.ask(one(STATEMENTS.putCounter, key, counter))).length === 0
}

/** For a passkey of an administrator: those of users are forgotten with the write of the user. */
export const forgetCounter = async (engine: Engine, passkey: Passkey): Promise<void> =>
  void (await engine.ask(one(STATEMENTS.removeCounter, toPasskeyKey(passkey))))

/** However a passkey ends: by its user, with a new password or a link, in an import, or with its user. */
export function* forgetCounters(changes: readonly UserTurn[]): StoreSteps<void> {
  const lost = changes.flatMap(({ change, after }) => {
    const kept = new Set(listKeys(after))
    return listKeys(change?.before).filter((key) => !kept.has(key))
  })
  if (lost.length > 0) yield manyKeys(STATEMENTS.removeCounter, lost)
}

const listKeys = (record: UserRecord | undefined): readonly string[] =>
  record?.kind === 'user' ? (record.passkeys ?? []).map(toPasskeyKey) : []
