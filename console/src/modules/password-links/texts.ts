export const texts = {
  action: 'Set password',
  failed: 'The password was not set',
  title: (name: string) => `Set a password for ${name}`,
  done: 'The password is set',
  doneText: (name: string) => `Sign in as ${name} with the new password.`,
} as const

/** For administrators, who create links. */
export const linkTexts = {
  short: 'Password link',
  action: 'Create link',
  instead: 'Create a link with which the user sets the password',
  title: (name: string) => `Password link for ${name}`,
  text: 'Creates a link with which the user sets a password. It works once, for one hour.',
  expires: 'Works once. Expires',
} as const
