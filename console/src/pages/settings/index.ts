import type { PageRow } from '../../frame/page-row.ts'

export const page: PageRow = {
  name: 'settings',
  title: 'Settings',
  icon: 'M2 4h7M13 4h1M11 2.5v3M2 8h2M8 8h6M6 6.5v3M2 12h8M14 12h0M12 10.5v3',
  key: 't',
  isPrimary: true,
  load: async () => (await import('./settings-page.tsx')).SettingsPage,
}
