// What the operations return, also for the console.
import {
  integer,
  listOf,
  mapOf,
  namedObject,
  object,
  oneOf,
  type Schema,
  type Static,
  text,
} from '../../dialects/admin-api/schemas/schema.ts'

export const PASSKEY = namedObject('Passkey', {
  id: text('Names it in the path.'),
  label: text('What its user calls it.'),
  kind: oneOf(['security-key', 'device', 'synced'], 'A key to plug in, one device, or an account that copies it.'),
  host: text('The host that it was made for. It works for no other.'),
  createdAt: integer('Seconds since the epoch.'),
  'usedAt?': integer('Exact to the minute; absent: it was not used yet.'),
})
export type PasskeyView = Static<typeof PASSKEY>

export const PASSKEYS = object({ passkeys: listOf(PASSKEY) })
export type PasskeysView = Static<typeof PASSKEYS>

export const ADDED = object({
  passkeys: listOf(PASSKEY),
  'recoveryCodes?': listOf(text(), 'Shown only once, if the passkey is the second factor that a role of yours needs.'),
})

/** JSON that a browser reads and writes: its members are those of the standard. */
const ANY: Schema<unknown> = {}
export const BROWSER_JSON = (description: string): Schema<Readonly<Record<string, unknown>>> => mapOf(ANY, description)
