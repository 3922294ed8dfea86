import { plural } from '../../numbers.ts'

export const texts = {
  what: 'The policy',
  intro: 'Who needs a second factor, a one-time code or a passkey, and who has none yet.',
  title: 'Who needs a second factor',
  administrators: 'All administrators',
  roles: 'Users with these roles',
  effect: 'An account without one signs in only to set it up. Both doors reject everything else until then.',
  ownEffect: 'This applies to you too. If you have no second factor, you set it up next.',
  tokens: 'Access tokens of such an account are rejected too.',
  with: 'Users with a second factor',
  without: 'Users without',
  save: 'Save policy',
  saved: 'The policy is saved.',
  missing: 'Without a second factor',
  missingCount: (count: number, isComplete: boolean) =>
    `${isComplete ? '' : 'More than '}${plural(count, 'account', 'accounts')}`,
  because: 'Needed for',
  administrator: 'administrator',
  none: 'Every account that needs a second factor has one',
  noPolicy: 'No account needs a second factor',
  noPolicyText: 'Each user decides. Choose who needs one above.',
} as const
