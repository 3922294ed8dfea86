import type { PageRow } from '../../frame/page-row.ts'

export const page: PageRow = {
  name: 'sessions',
  title: 'Sessions',
  icon: 'M1.5 2.5h13v8.5h-13zM5.5 14h5M8 11v3M8 4.7v2.3l1.7 1',
  key: 'e',
  hasIds: true,
  load: async () => (await import('./sessions-page.tsx')).SessionsPage,
}
