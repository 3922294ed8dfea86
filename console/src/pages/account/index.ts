import type { PageRow } from '../../frame/page-row.ts'

export const page: PageRow = {
  name: 'account',
  title: 'My account',
  shortTitle: 'Account',
  icon: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2.5 14c0-3 2.4-4.5 5.5-4.5s5.5 1.5 5.5 4.5',
  key: 'm',
  rights: ['administrator', 'userAdmin', 'user'],
  isPrimary: true,
  commands: [{ text: 'Change my password' }],
  load: async () => (await import('./account-page.tsx')).AccountPage,
}
