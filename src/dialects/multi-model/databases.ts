// Which databases there are, as far as grants tell, where no upstream gives the answer.
import { Refusal } from '../../base/errors.ts'
import { ANONYMOUS } from '../../directory/identity.ts'
import type { Exchange, Reply, Route } from '../../http/request-context.ts'
import { type Databases, type GateSettings, isExempt, levelOn } from './gate.ts'
import { SYSTEM_DATABASE } from './path.ts'
import { toWrappedReply } from './wire.ts'

export interface DatabasesNeeds {
  readonly databases: Databases
  settings(): GateSettings
}

export const databasesRoutes = (needs: DatabasesNeeds): readonly Route[] => [
  { path: '/_api/database', methods: { GET: (exchange) => listAll(needs, exchange) } },
  { path: '/_api/database/current', methods: { GET: showCurrent } },
  { path: '/_api/database/user', methods: { GET: (exchange) => listOwn(needs, exchange) } },
]

async function listAll({ databases }: DatabasesNeeds, exchange: Exchange): Promise<Reply> {
  if (exchange.path.scope !== SYSTEM_DATABASE) throw new Refusal('system_database_only')
  return toWrappedReply(await databases.list())
}

function showCurrent({ path: { scope = SYSTEM_DATABASE } }: Exchange): Reply {
  const isSystem = scope === SYSTEM_DATABASE
  return toWrappedReply({ name: scope, id: isSystem ? '1' : scope, path: '', isSystem })
}

async function listOwn({ databases, settings }: DatabasesNeeds, exchange: Exchange): Promise<Reply> {
  const { identity } = exchange.authenticated ?? ANONYMOUS
  const names = await databases.list()
  const isFree = isExempt(exchange, settings())
  return toWrappedReply(names.filter((name) => isFree || levelOn(identity, name) !== 'none'))
}
