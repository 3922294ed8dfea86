import type { PageRow } from '../../frame/page-row.ts'
import { plural } from '../../numbers.ts'

export const page: PageRow = {
  name: 'users',
  title: 'Users',
  icon: 'M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M11 3.2a2.5 2.5 0 0 1 0 4.6M12.5 9.8c1.2.6 2 1.9 2 3.7',
  key: 'u',
  rights: ['administrator', 'userAdmin'],
  isPrimary: true,
  notice: ({ lockedAccounts }) => ({
    count: lockedAccounts,
    text: plural(lockedAccounts, 'locked account', 'locked accounts'),
  }),
  commands: [{ text: 'Add a user', query: { do: 'add' } }],
  load: async () => (await import('./users-page.tsx')).UsersPage,
}
