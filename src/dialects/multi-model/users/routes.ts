import { Refusal } from '../../../base/errors.ts'
import type { Handler, Params, Reply, RequestContext, Route } from '../../../http/request-context.ts'
import { clearConfig, getConfig, setConfig } from './config.ts'
import type { UsersDeps } from './deps.ts'
import { clearLevel, getLevel, listDatabases, setLevel } from './grants.ts'
import { getUser, listUsers } from './read.ts'
import { changeUser, checkPassword, createUser, removeUser, replaceUser } from './write.ts'

type Work = (deps: UsersDeps, context: RequestContext, params: Params) => Promise<Reply>

/** The API of users: `/_api/user` and everything below. */
export function usersRoutes(deps: UsersDeps): readonly Route[] {
  const by =
    (work: Work): Handler =>
    (context, params) =>
      work(deps, context, params)
  const level = { GET: by(getLevel), PUT: by(setLevel), DELETE: by(clearLevel) }
  return [
    {
      path: '/_api/user',
      methods: {
        GET: by(listUsers),
        POST: by(createUser),
        PUT: refuseParts,
        PATCH: refuseParts,
        DELETE: refuseParts,
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

export function refuseParts(): never {
  throw new Refusal('bad_request', { about: 'the path has too many or too few parts' })
}
