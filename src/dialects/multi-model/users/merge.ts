import { isJsonObject } from '../../../base/json.ts'
import type { Json, JsonObject } from '../../../directory/user.ts'

const isObject = (value: Json | undefined): value is JsonObject => isJsonObject(value)

/** The members of both; where both have one, the second counts, and objects are merged in turn. */
export function merge(first: JsonObject, second: JsonObject): JsonObject {
  const members = new Map<string, Json>(Object.entries(first))
  for (const [name, value] of Object.entries(second)) {
    const before = members.get(name)
    members.set(name, isObject(before) && isObject(value) ? merge(before, value) : value)
  }
  // makes own members of all names, `__proto__` too
  return Object.fromEntries(members)
}
