import { badRequest } from '../../../base/errors.ts'
import { bindDeps, type MultiModelDeps } from '../deps.ts'
import { type MultiModelRoute, RIGHTS } from '../rights.ts'
import { clearConfig, getConfig, setConfig } from './config.ts'
import { clearLevel, getLevel, listDatabases, setLevel } from './grants.ts'
import { getUser, listUsers } from './read.ts'
import { changeUser, checkPassword, createUser, removeUser, replaceUser } from './write.ts'

/** The API of users: `/_api/user` and everything below. */
export function usersRoutes(deps: MultiModelDeps): readonly MultiModelRoute[] {
  const by = bindDeps(deps)
  const { server, ownUser: right } = RIGHTS
  const level = { GET: by(getLevel), PUT: by(setLevel), DELETE: by(clearLevel) }
  return [
    {
      path: '/_api/user',
      right: server,
      methods: {
        GET: by(listUsers),
        POST: by(createUser),
        PUT: rejectParts,
        PATCH: rejectParts,
        DELETE: rejectParts,
      },
    },
    {
      path: '/_api/user/{user}',
      right: RIGHTS.user,
      methods: {
        GET: by(getUser),
        POST: by(checkPassword),
        PUT: by(replaceUser),
        PATCH: by(changeUser),
        DELETE: by(removeUser),
      },
    },
    { path: '/_api/user/{user}/database', right, methods: { GET: by(listDatabases) } },
    { path: '/_api/user/{user}/database/{database}', right, methods: level },
    { path: '/_api/user/{user}/database/{database}/{collection}', right, methods: level },
    { path: '/_api/user/{user}/config', right, methods: { GET: by(getConfig), DELETE: by(clearConfig) } },
    {
      path: '/_api/user/{user}/config/{key}',
      right,
      methods: { GET: by(getConfig), PUT: by(setConfig), DELETE: by(clearConfig) },
    },
    { path: '/_api/user/{user}/{...}', right, handle: rejectParts },
  ]
}

export function rejectParts(): never {
  throw badRequest('the path has too many or too few parts')
}
