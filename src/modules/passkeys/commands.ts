import type { OperationResult } from '../../dialects/admin-api/operations.ts'
import type { UserCommand } from '../module.ts'

const print = ({ passkeys }: OperationResult<'user.passkeys'>, user: string): string =>
  passkeys.map(({ id, kind, label, host }) => `${id}  ${kind}  ${host}  ${label}`).join('\n') ||
  `${user} has no passkeys.`

const list: UserCommand<'user.passkeys'> = {
  name: 'passkeys',
  description: 'print the passkeys of a user',
  operation: 'user.passkeys',
  print,
}

const remove: UserCommand<'user.remove-passkey'> = {
  name: 'remove-passkey',
  description: 'remove a passkey; ends all sessions of the user',
  operation: 'user.remove-passkey',
  arguments: [['<id>', 'as passkeys prints it']],
  toInput: (id = '') => ({ params: { id } }),
  print,
}

export const PASSKEY_COMMANDS = [list, remove]
