import { badRequest } from '../../../base/errors.ts'
import { findMember } from '../../../base/json.ts'
import type { Caller } from '../../../directory/caller.ts'
import { type Json, type JsonObject, type User, withField } from '../../../directory/users/user.ts'
import { readMembers } from '../body.ts'
import type { MultiModelDeps, MultiModelHandler } from '../deps.ts'
import { toEmptyReply, toWrappedReply } from '../reply.ts'
import { orUserNotFound, requireMultiModelUser, requireSmall } from './input.ts'

/** Settings that a web console stores for a user. Cardea does not interpret them. */
export const getConfig: MultiModelHandler = async ({ directory }, _context, { user: name = '', key }) => {
  const config = directory.isAdministrator(name) ? {} : (await requireMultiModelUser(directory, name)).multiModel.config
  if (key !== undefined) return toWrappedReply(findMember(config, key) ?? null)
  // quirk: reference multi-model 7.2: nothing stored is null, not an empty object
  return toWrappedReply(Object.keys(config).length === 0 ? null : config)
}

export const setConfig: MultiModelHandler = async (deps, context, { user: name = '', key = '' }) => {
  const value = findMember(await readMembers(context), 'value')
  if (value === undefined) throw badRequest("'value' is missing")
  // it came from JSON
  return change(deps, name, context, (config) => [...without(config, key), [key, value as Json]])
}

export const clearConfig: MultiModelHandler = async (deps, context, { user: name = '', key }) =>
  change(deps, name, context, (config) => (key === undefined ? [] : without(config, key)))

type Entries = readonly (readonly [string, Json])[]
type Next = (config: JsonObject) => Entries

const without = (config: JsonObject, key: string): Entries => Object.entries(config).filter(([name]) => name !== key)

async function change({ directory }: MultiModelDeps, name: string, caller: Caller, next: Next) {
  const toConfig = (user: User) => requireSmall(Object.fromEntries(next(user.multiModel.config)))
  await orUserNotFound(directory.changeUser(name, caller, (user) => withField(user, 'config', toConfig(user))))
  return toEmptyReply(200)
}
