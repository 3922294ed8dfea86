import { badRequest } from '../../../base/errors.ts'
import { CLIENTS } from '../access.ts'
import { bindDeps, type MultiModelDeps } from '../deps.ts'
import { MULTI_MODEL_RIGHTS, type MultiModelRoute } from '../rights.ts'
import { clearConfig, getConfig, setConfig } from './config.ts'
import { clearLevel, getLevel, listDatabases, setLevel } from './grants.ts'
import { getUser, listUsers } from './read.ts'
import { changeUser, createUser, removeUser, replaceUser, tryPassword } from './write.ts'

/** The API of users: `/_api/user` and everything below. */
export function createMultiModelUsersRoutes(deps: MultiModelDeps): readonly MultiModelRoute[] {
  const by = bindDeps(deps)
  const { server, ownUser: right } = MULTI_MODEL_RIGHTS
  const { identified, manager, managerOfUser, reader, changer } = CLIENTS
  const level = { GET: by(reader, getLevel), PUT: by(managerOfUser, setLevel), DELETE: by(managerOfUser, clearLevel) }
  return [
    {
      path: '/_api/user',
      right: server,
      methods: {
        GET: by(reader, listUsers),
        POST: by(manager, createUser),
        PUT: rejectParts,
        PATCH: rejectParts,
        DELETE: rejectParts,
      },
    },
    {
      path: '/_api/user/{user}',
      right: MULTI_MODEL_RIGHTS.user,
      methods: {
        GET: by(reader, getUser),
        POST: by(identified, tryPassword),
        PUT: by(changer, replaceUser),
        PATCH: by(changer, changeUser),
        DELETE: by(managerOfUser, removeUser),
      },
    },
    { path: '/_api/user/{user}/database', right, methods: { GET: by(reader, listDatabases) } },
    { path: '/_api/user/{user}/database/{database}', right, methods: level },
    { path: '/_api/user/{user}/database/{database}/{collection}', right, methods: level },
    {
      path: '/_api/user/{user}/config',
      right,
      methods: { GET: by(reader, getConfig), DELETE: by(changer, clearConfig) },
    },
    {
      path: '/_api/user/{user}/config/{key}',
      right,
      methods: { GET: by(reader, getConfig), PUT: by(changer, setConfig), DELETE: by(changer, clearConfig) },
    },
    { path: '/_api/user/{user}/{...}', right, handle: rejectParts },
  ]
}

export function rejectParts(): never {
  throw badRequest('the path has too many or too few parts')
}
