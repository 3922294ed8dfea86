import type { RecordUserChange } from '../../directory/deps.ts'
import { isLinkedTo } from '../../directory/external-accounts.ts'
import type { User } from '../../directory/users/user.ts'
import { EVENT } from '../../observe/security-event-table.ts'

const { notable, text, USER } = EVENT
const FIELDS = {
  ...USER,
  provider: text('Name of the identity provider in the configuration.'),
  account: text('Its id of the account: the claim `sub`.'),
} as const

export const EXTERNAL_ACCOUNT_EVENTS = {
  'external-account.linked': notable(
    'external account linked',
    'The account {account} at {provider} can sign in as {subject}',
    FIELDS,
  ),
  'external-account.unlinked': notable(
    'external account unlinked',
    'The account {account} at {provider} can no longer sign in as {subject}',
    FIELDS,
  ),
}

/** The provider's id of the account is recorded: an operator needs it to find the account there. */
export const recordLinks: RecordUserChange = (events, before, after) => {
  const record = (kind: keyof typeof EXTERNAL_ACCOUNT_EVENTS, of: Partial<User>, other: Partial<User>) => {
    for (const link of of.links ?? [])
      if (!isLinkedTo(other, link))
        events.record(kind, { subject: after.name, provider: link.provider, account: link.subject })
  }
  record('external-account.linked', after, before ?? {})
  record('external-account.unlinked', before ?? {}, after)
}
