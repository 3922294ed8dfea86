// Which databases there are, as far as grants tell, where no upstream gives the answer.

import { Refusal } from '../../base/errors.ts'
import { SYSTEM_DATABASE } from '../../directory/grants.ts'
import { ANONYMOUS } from '../../directory/identity.ts'
import type { Reply, RequestContext, Route } from '../../http/request-context.ts'
import { type Databases, type GateSettings, isExempt, levelOn } from './gate.ts'

import { toWrappedReply } from './wire.ts'

export interface DatabasesDeps {
  readonly databases: Databases
  settings(): GateSettings
}

export const databasesRoutes = (deps: DatabasesDeps): readonly Route[] => [
  { path: '/_api/database', methods: { GET: (context) => listAll(deps, context) } },
  { path: '/_api/database/current', methods: { GET: showCurrent } },
  { path: '/_api/database/user', methods: { GET: (context) => listOwn(deps, context) } },
]

async function listAll({ databases }: DatabasesDeps, context: RequestContext): Promise<Reply> {
  if (context.path.scope !== SYSTEM_DATABASE) throw new Refusal('system_database_only')
  return toWrappedReply(await databases.list())
}

function showCurrent({ path: { scope = SYSTEM_DATABASE } }: RequestContext): Reply {
  const isSystem = scope === SYSTEM_DATABASE
  return toWrappedReply({ name: scope, id: isSystem ? '1' : scope, path: '', isSystem })
}

async function listOwn({ databases, settings }: DatabasesDeps, context: RequestContext): Promise<Reply> {
  const { identity } = context.authenticated ?? ANONYMOUS
  const names = await databases.list()
  const isFree = isExempt(context, settings())
  return toWrappedReply(names.filter((name) => isFree || levelOn(identity, name) !== 'none'))
}
