import type { UserCommand } from '../module.ts'

const setAddress: UserCommand<'user.set-address'> = {
  name: 'address',
  description: 'set the e-mail address of a user, as verified',
  operation: 'user.set-address',
  arguments: [['<address>', 'none removes it']],
  toInput: (address = '') => ({ body: { address: address === 'none' ? null : address } }),
  print: ({ address }, user) => (address === null ? `${user} has no address.` : `${user} has the address ${address}.`),
  // another user has the address
  explainsConflict: true,
}

const invite: UserCommand<'invitation.add'> = {
  name: 'invite',
  description: 'send an invitation to an e-mail address; the person chooses the password',
  operation: 'invitation.add',
  arguments: [
    ['<address>', 'where it is sent'],
    ['[roles...]', 'the roles of the user'],
  ],
  namesUser: true,
  toInput: (address = '', ...roles) => ({ body: { address, roles: roles.flat() } }),
  print: (_result, user) => `An invitation for ${user} is on its way.`,
  explainsConflict: true,
}

export const MAIL_COMMANDS = [setAddress, invite]
