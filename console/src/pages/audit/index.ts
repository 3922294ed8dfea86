import type { PageRow } from '../../frame/page-row.ts'

export const page: PageRow = {
  name: 'audit',
  title: 'Audit',
  icon: 'M3.5 1.5h6l3 3v10h-9v-13ZM5.5 7h5M5.5 9.5h5M5.5 12h3',
  key: 'l',
  isPrimary: true,
  load: async () => (await import('./audit-page.tsx')).AuditPage,
}
