import type { Reply, Route } from '../../door/exchange.ts'
import type { MultiModelDialectOptions } from './dialect.ts'
import { toJsonReply } from './wire.ts'

export function multiModelRoutes({ version, product }: MultiModelDialectOptions): readonly Route[] {
  const getVersion = (): Reply => toJsonReply(200, { server: 'arango', license: 'community', version })
  return [
    { path: '/', methods: { GET: () => toJsonReply(200, { error: false, code: 200, product: product.name }) } },
    { path: '/_api/version', methods: { GET: getVersion } },
    { path: '/_admin/version', methods: { GET: getVersion } },
    {
      path: '/_admin/server/availability',
      methods: { GET: () => toJsonReply(200, { error: false, code: 200, mode: 'default' }) },
    },
  ]
}
