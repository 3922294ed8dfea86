/**
 * Passkeys: sign-in with an authenticator, without the password or as the second step after it. Tests:
 * `test/modules/passkeys/`, `test/scenario/passkey*.test.ts`, `passkeys.test.ts` of `test/console/` and `test/client/`.
 * Reference: `docs/reference/passkeys.md`. Pages: `console/src/modules/passkeys/` and the sign-in page. They are
 * a field of users; those of administrators are stored as their second factor is.
 */
import { EVENT } from '../../observe/security-event-table.ts'
import { defineModule } from '../module.ts'
import { PASSKEY_CHECK } from './checks.ts'
import { PASSKEY_COMMANDS } from './commands.ts'
import { forgetCounters } from './counters.ts'
import { PASSKEY_OPERATIONS } from './operations.ts'
import { passkeysOptions, toRpId } from './options.ts'

const { done, notable, text, USER } = EVENT
const FIELDS = { ...USER, passkey: text('What its user calls it.') }

const EVENTS = {
  'passkey.added': done('passkey added', 'The passkey {passkey} of {subject} was added', FIELDS),
  'passkey.removed': done('passkey removed', 'The passkey {passkey} of {subject} was removed', FIELDS),
  'passkey.counter': notable(
    'counter of a passkey went back',
    'The counter of the passkey {passkey} of {subject} went back: the key may have been copied',
    FIELDS,
  ),
}

export const passkeys = defineModule({
  name: 'passkeys',
  options: passkeysOptions,
  events: EVENTS,
  operations: PASSKEY_OPERATIONS,
  store: { onUserChange: forgetCounters },
  userCommands: PASSKEY_COMMANDS,
  checks: [PASSKEY_CHECK],
  checkStored: async (...change) => (await import('./public-url.ts')).checkPublicUrl(...change),
  countWaysIn: ({ passkeys = [] }, { values }) => passkeys.filter(({ rpId }) => rpId === toRpId(values)).length,
  passkeys: async (core) => (await import('./open.ts')).createPasskeyService(core),
})

type Events = typeof EVENTS
type Operations = typeof PASSKEY_OPERATIONS

declare module '../../observe/security-event-table.ts' {
  interface EventRows extends Events {}
}
declare module '../../dialects/admin-api/operations.ts' {
  interface OperationRows extends Operations {}
}
