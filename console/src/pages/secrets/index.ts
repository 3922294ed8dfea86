import type { PageRow } from '../../frame/page-row.ts'

export const page: PageRow = {
  name: 'secrets',
  title: 'Secrets',
  icon: 'M10 6.5a3 3 0 1 0-2.4 2.9L9 11h2v2h2.5v-2.2L9.8 7.2c.1-.2.2-.5.2-.7ZM6.5 6h.01',
  key: 's',
  load: async () => (await import('./secrets-page.tsx')).SecretsPage,
}
