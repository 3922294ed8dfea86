/** `console.public-url` decides for which host passkeys are made, and that its pages may use them. */
import type { CheckStored } from '../../live-config/settings-service.ts'
import { type Engine, numberOf, one } from '../../store/engine.ts'
import { toStatements } from '../../store/statements.ts'
import { type PasskeySettings, toRpId } from './options.ts'
import { listOrigins } from './settings.ts'

const STATEMENTS = toStatements(
  {
    countPasskeys: `SELECT count(*) AS count FROM cardea_user_entries WHERE kind = 'passkey' AND key > $1 AND key < $2`,
  },
  'passkeys.',
)

/** The other options that decide it cannot be changed at run time at all. This one can, until it matters. */
export const checkPublicUrl: CheckStored = async ({ before, after }, { get, kernel }) => {
  if (toPlace(before) === toPlace(after)) return undefined
  const rpId = toRpId(before)
  const ofAdministrators = [...get().administrators.values()].flatMap(({ passkeys = [] }) => passkeys)
  const count =
    ofAdministrators.filter((passkey) => passkey.rpId === rpId).length +
    (await countOfUsers(kernel.store.statements, rpId))
  if (count === 0) return undefined
  const found = count === 1 ? `There is 1 passkey of ${rpId}.` : `There are ${count} passkeys of ${rpId}.`
  return `${found} This option decides on which pages they can be used, so no request may change it now. Use the command line on the server, or a file.`
}

/** Where passkeys can be used, apart from listeners. */
const toPlace = (settings: PasskeySettings): string =>
  [toRpId(settings), ...listOrigins(settings, { scheme: 'http', localPort: undefined, isTrusted: false })].join(' ')

/** Their keys begin with the host and a blank. */
const countOfUsers = async (engine: Engine, rpId: string): Promise<number> =>
  numberOf((await engine.ask(one(STATEMENTS.countPasskeys, `${rpId} `, `${rpId}!`)))[0], 'count')
