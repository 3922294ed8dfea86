/**
 * Identity providers: their access tokens at both doors, sign-in of browsers, and accounts that are linked to users.
 * Tests: `test/modules/providers/`, `test/scenario/provider*.test.ts`. Guide: `docs/guides/identity-providers.md`. Pages of
 * the console: `console/src/modules/providers/`. The accounts are a field of users, whose changes it records.
 */
import { defineModule } from '../module.ts'
import { passwordLinks } from '../password-links/index.ts'
import { PROVIDER_COMMANDS } from './commands.ts'
import { EXTERNAL_ACCOUNT_EVENTS, recordLinks } from './events.ts'
import { EXTERNAL_ACCOUNT_OPERATIONS } from './operations.ts'
import { providersOptions } from './options.ts'
import { countSignInLinks, toProviderRules } from './settings.ts'

export const providers = defineModule({
  name: 'providers',
  needs: [passwordLinks],
  options: providersOptions,
  events: EXTERNAL_ACCOUNT_EVENTS,
  recordUserChange: recordLinks,
  operations: EXTERNAL_ACCOUNT_OPERATIONS,
  userCommands: PROVIDER_COMMANDS,
  // loaded by a server only: commands start without it
  externalSignIn: async (core) => (await import('./open.ts')).openProviders(core),
  accountRules: toProviderRules,
  countWaysIn: countSignInLinks,
  checks: [
    {
      name: 'providers',
      isConfigured: ({ named }) => named.provider.length > 0,
      find: async (...given) => (await import('./checks.ts')).checkProviders(...given),
      ok: 'keys of all can be fetched',
    },
  ],
})

type Events = typeof EXTERNAL_ACCOUNT_EVENTS
type Operations = typeof EXTERNAL_ACCOUNT_OPERATIONS

declare module '../../observe/security-event-table.ts' {
  interface EventRows extends Events {}
}
declare module '../../dialects/admin-api/operations.ts' {
  interface OperationRows extends Operations {}
}
