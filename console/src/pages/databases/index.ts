import type { PageRow } from '../../frame/page-row.ts'

export const page: PageRow = {
  name: 'databases',
  title: 'Databases',
  icon: 'M8 6c3 0 5.5-.9 5.5-2S11 2 8 2 2.5 2.9 2.5 4 5 6 8 6ZM2.5 4v8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2V4M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2',
  key: 'd',
  load: async () => (await import('./databases-page.tsx')).DatabasesPage,
}
