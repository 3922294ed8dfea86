export const texts = {
  what: 'The administrators',
  intro: 'Administrators may do everything, at both doors and here.',
  add: 'Add administrator',
  addText: 'An administrator is not a user: it has a name and a password, and every right.',
  added: (name: string) => `${name} is an administrator now.`,
  isYou: 'you',
  last: 'The last administrator cannot be removed.',
  remove: (name: string) => `Remove ${name}`,
  removeText: (name: string) => `${name} loses every right, and all its sessions end at once.`,
  removeOwnText: 'This is your own account: you lose every right, and are signed out at once.',
  removed: (name: string) => `${name} is no longer an administrator.`,
} as const
