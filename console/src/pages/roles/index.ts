import type { PageRow } from '../../frame/page-row.ts'

export const page: PageRow = {
  name: 'roles',
  title: 'Roles',
  icon: 'M2 2h5.5L14 8.5 8.5 14 2 7.5V2ZM5 5h.01',
  key: 'r',
  load: async () => (await import('./roles-page.tsx')).RolesPage,
}
