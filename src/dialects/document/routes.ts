import type { Route } from '../../http/request-context.ts'
import type { DocumentDeps } from './deps.ts'
import { nodeRoutes } from './node.ts'
import { activeTasks, allDatabases, databasesInfo, membership, up, uuids, welcome } from './server.ts'
import { getSession, signIn, signOut } from './session.ts'
import { usersRoutes } from './users/routes.ts'

/** Every path that Cardea answers itself at this door. */
export const documentRoutes = (deps: DocumentDeps): readonly Route[] => [
  { path: '/_up', methods: { GET: () => up(deps) }, allow: ['GET', 'HEAD'] },
  {
    path: '/_session',
    methods: {
      GET: (context) => getSession(context, deps),
      POST: (context) => signIn(context, deps),
      DELETE: (context) => signOut(context, deps),
    },
    allow: ['GET', 'HEAD', 'POST', 'DELETE'],
  },
  ...nodeRoutes(deps.node, deps.upstream),
  ...usersRoutes(deps.users),
  ...standInRoutes(deps),
]

/** What a server without databases answers. With an upstream, the database answers these. */
const standInRoutes = (deps: DocumentDeps): readonly Route[] => [
  { path: '/', methods: { GET: () => welcome(deps) }, allow: ['GET', 'HEAD'], isStandIn: true },
  { path: '/_membership', methods: { GET: () => membership(deps.node) }, isStandIn: true },
  { path: '/_all_dbs', methods: { GET: () => allDatabases(deps.users) }, allow: ['GET', 'HEAD'], isStandIn: true },
  {
    path: '/_dbs_info',
    methods: {
      GET: (context) => databasesInfo(context, deps.users),
      POST: (context) => databasesInfo(context, deps.users),
    },
    allow: ['GET', 'HEAD', 'POST'],
    isStandIn: true,
  },
  { path: '/_uuids', methods: { GET: uuids }, allow: ['GET'], isStandIn: true },
  { path: '/_active_tasks', methods: { GET: activeTasks }, allow: ['GET', 'HEAD'], isStandIn: true },
]
