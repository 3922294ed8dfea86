import type { PageRow } from '../../frame/page-row.ts'

export const page: PageRow = {
  name: 'policy',
  title: 'Second factor',
  icon: 'M5 1.5h6v13H5zM7 12.5h2M6.5 6.5l1.2 1.2 2-2.4',
  key: 'f',
  load: async () => (await import('./policy-page.tsx')).PolicyPage,
}
