import { Refusal } from '../../../base/errors.ts'
import { findMember } from '../../../base/json.ts'
import type { Json, JsonObject } from '../../../directory/user.ts'
import type { Exchange, Params, Reply } from '../../../http/request-context.ts'
import { readMembers } from '../body.ts'
import { requireReader } from '../rights.ts'
import { toEmptyReply, toWrappedReply } from '../wire.ts'
import { requireSmall } from './input.ts'
import type { UsersNeeds } from './routes.ts'
import { aboutUser } from './wire.ts'
import { requireChangeable } from './write.ts'

/** What a console keeps for a user: values by name, of no meaning here. */
export async function getConfig(needs: UsersNeeds, exchange: Exchange, params: Params): Promise<Reply> {
  const { user: name = '', key } = params
  requireReader(exchange, needs.settings(), name)
  const config = await findConfig(needs, name)
  if (key !== undefined) return toWrappedReply(findMember(config, key) ?? null)
  // quirk: reference multi-model 7.2: nothing stored is null, not an empty object
  return toWrappedReply(Object.keys(config).length === 0 ? null : config)
}

async function findConfig({ directory }: UsersNeeds, name: string): Promise<JsonObject> {
  if (directory.isAdministrator(name)) return {}
  const user = await directory.findUser(name)
  if (!user) throw new Refusal('user_not_found')
  return user.multiModel.config
}

export async function setConfig(needs: UsersNeeds, exchange: Exchange, params: Params): Promise<Reply> {
  const { user: name = '', key = '' } = params
  requireChangeable(needs, exchange, name)
  const value = findMember(await readMembers(exchange), 'value')
  if (value === undefined) throw new Refusal('bad_request', { about: "'value' is missing" })
  // it came from JSON
  return change(needs, name, (config) => [...without(config, key), [key, value as Json]])
}

export async function clearConfig(needs: UsersNeeds, exchange: Exchange, params: Params): Promise<Reply> {
  const { user: name = '', key } = params
  requireChangeable(needs, exchange, name)
  return change(needs, name, (config) => (key === undefined ? [] : without(config, key)))
}

type Entries = readonly (readonly [string, Json])[]

const without = (config: JsonObject, key: string): Entries => Object.entries(config).filter(([name]) => name !== key)

async function change({ directory }: UsersNeeds, name: string, next: (config: JsonObject) => Entries): Promise<Reply> {
  await aboutUser(
    directory.changeUser(name, 'any', (user) => {
      const config = requireSmall(Object.fromEntries(next(user.multiModel.config)))
      return { ...user, multiModel: { ...user.multiModel, config } }
    }),
  )
  return toEmptyReply(200)
}
