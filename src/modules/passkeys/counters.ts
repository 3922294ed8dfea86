/** Signature counters. An authenticator that counts, and whose counter goes back, may have been copied. */
import { type Passkey, toPasskeyKey } from '../../directory/users/user.ts'
import { type Engine, one } from '../../store/engine.ts'
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

export const forgetCounter = async (engine: Engine, passkey: Passkey): Promise<void> =>
  void (await engine.ask(one(STATEMENTS.removeCounter, toPasskeyKey(passkey))))
