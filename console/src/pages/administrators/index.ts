import type { PageRow } from '../../frame/page-row.ts'

export const page: PageRow = {
  name: 'administrators',
  title: 'Administrators',
  shortTitle: 'Admins',
  icon: 'M8 1.5 13 3.5v4c0 3.3-2 5.6-5 7-3-1.4-5-3.7-5-7v-4l5-2ZM6 8l1.5 1.5L10.2 6.5',
  key: 'a',
  commands: [{ text: 'Add an administrator', query: { do: 'add' } }],
  load: async () => (await import('./administrators-page.tsx')).AdministratorsPage,
}
