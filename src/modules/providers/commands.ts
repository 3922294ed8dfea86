import type { OperationResult } from '../../dialects/admin-api/operations.ts'
import type { UserCommand } from '../module.ts'

const print = ({ accounts }: OperationResult<'user.external-accounts'>, user: string): string =>
  accounts.map(({ id, provider, subject }) => `${id}  ${provider}  ${subject}`).join('\n') ||
  `${user} has no external accounts.`

const list: UserCommand<'user.external-accounts'> = {
  name: 'external-accounts',
  description: 'print the accounts at identity providers that sign in as a user',
  operation: 'user.external-accounts',
  print,
}

const link: UserCommand<'user.link-account'> = {
  name: 'link',
  description: 'let an account at an identity provider sign in as a user',
  operation: 'user.link-account',
  arguments: [
    ['<provider>', 'its name in the configuration'],
    ['<issuer>', 'iss of its tokens'],
    ['<subject>', 'sub of its tokens: the id of the account there'],
  ],
  toInput: (provider, issuer, subject) => ({ body: { provider, issuer, subject } }),
  print,
  // another user has the account
  explainsConflict: true,
}

const unlink: UserCommand<'user.unlink-account'> = {
  name: 'unlink',
  description: 'stop an account at an identity provider; ends all sessions of the user',
  operation: 'user.unlink-account',
  arguments: [['<id>', 'as external-accounts prints it']],
  toInput: (id = '') => ({ params: { id } }),
  print,
}

export const PROVIDER_COMMANDS = [list, link, unlink]
