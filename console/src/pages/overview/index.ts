import type { PageRow } from '../../frame/page-row.ts'

export const page: PageRow = {
  name: 'overview',
  title: 'Overview',
  icon: 'M2 13h12M4 11V7M8 11V3M12 11V6',
  key: 'o',
  isPrimary: true,
  hasIds: true,
  load: async () => (await import('./overview-page.tsx')).OverviewPage,
}
