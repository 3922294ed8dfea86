import { integer, listOf, namedObject, object, type Static, text } from '../../dialects/admin-api/schemas/schema.ts'

const EXTERNAL_ACCOUNT = namedObject('ExternalAccount', {
  id: text('Names it in the path.'),
  provider: text('The name of the identity provider in the configuration.'),
  issuer: text(),
  subject: text('The id of the account at the provider.'),
  linkedAt: integer('Seconds since the epoch.'),
  'roles?': listOf(text(), 'Roles that the provider gave at the last sign-in of a browser.'),
})
export type ExternalAccountView = Static<typeof EXTERNAL_ACCOUNT>
export const EXTERNAL_ACCOUNTS = object({ accounts: listOf(EXTERNAL_ACCOUNT) })
