import { badRequest } from '../../../base/errors.ts'
import type { Route } from '../../../http/request-context.ts'
import { bindDeps, type MultiModelDeps } from '../deps.ts'
import { clearConfig, getConfig, setConfig } from './config.ts'
import { clearLevel, getLevel, listDatabases, setLevel } from './grants.ts'
import { getUser, listUsers } from './read.ts'
import { changeUser, checkPassword, createUser, removeUser, replaceUser } from './write.ts'

/** The API of users: `/_api/user` and everything below. */
export function usersRoutes(deps: MultiModelDeps): readonly Route[] {
  const by = bindDeps(deps)
  const level = { GET: by(getLevel), PUT: by(setLevel), DELETE: by(clearLevel) }
  return [
    {
      path: '/_api/user',
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
      methods: {
        GET: by(getUser),
        POST: by(checkPassword),
        PUT: by(replaceUser),
        PATCH: by(changeUser),
        DELETE: by(removeUser),
      },
    },
    { path: '/_api/user/{user}/database', methods: { GET: by(listDatabases) } },
    { path: '/_api/user/{user}/database/{database}', methods: level },
    { path: '/_api/user/{user}/database/{database}/{collection}', methods: level },
    { path: '/_api/user/{user}/config', methods: { GET: by(getConfig), DELETE: by(clearConfig) } },
    {
      path: '/_api/user/{user}/config/{key}',
      methods: { GET: by(getConfig), PUT: by(setConfig), DELETE: by(clearConfig) },
    },
  ]
}

export function rejectParts(): never {
  throw badRequest('the path has too many or too few parts')
}
