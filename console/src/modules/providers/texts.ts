export const texts = {
  title: 'Accounts at identity providers',
  account: 'Account',
  linked: 'Linked',
  unlink: 'Unlink',
  unlinkButton: (provider: string, subject: string) => `Unlink ${subject} of ${provider}`,
  unlinkOne: (provider: string, name: string) => `Unlink the account at ${provider} from ${name}`,
  effect: (name: string) => `It can no longer sign in as ${name}. All sessions of ${name} end.`,
  unlinked: (provider: string, name: string) => `The account at ${provider} was unlinked from ${name}.`,
} as const
