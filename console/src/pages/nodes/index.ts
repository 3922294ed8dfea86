import type { PageRow } from '../../frame/page-row.ts'
import { plural } from '../../numbers.ts'

export const page: PageRow = {
  name: 'nodes',
  title: 'Nodes',
  icon: 'M2.5 2.5h11v4h-11zM2.5 9.5h11v4h-11zM5 4.5h.01M5 11.5h.01',
  key: 'n',
  notice: ({ failingUpstreams }) => ({
    count: failingUpstreams,
    text: plural(failingUpstreams, 'failing upstream', 'failing upstreams'),
  }),
  load: async () => (await import('./nodes-page.tsx')).NodesPage,
}
