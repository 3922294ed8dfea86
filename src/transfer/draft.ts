// Writes a draft of a user as JSON, for Cardea's own format and for the admin API.

import type { Grant, Json, JsonObject, SessionEpoch, User } from '../directory/users/user.ts'
import type { NewPassword, UserDraft } from '../directory/users/user-directory.ts'
import { toDocumentMembers } from '../passwords/password.ts'

/** Everything a user has, so that an import restores it without loss. */
export const toDraft = ({
  name,
  isActive,
  password,
  sessionEpoch,
  document,
  multiModel,
  ...user
}: User): UserDraft => ({
  name,
  isActive,
  ...(user.expiresAt !== undefined && { expiresAt: user.expiresAt }),
  ...(user.mustChangePassword && { mustChangePassword: true }),
  password: { stored: password },
  revision: document.revision,
  sessionEpoch,
  roles: document.roles,
  members: document.members,
  multiModel,
})

/** Leaves out empty members. */
export function toDraftJson(draft: UserDraft): JsonObject {
  const {
    name,
    isActive = true,
    expiresAt,
    mustChangePassword,
    password,
    keepsPassword,
    revision,
    sessionEpoch,
    roles = [],
    members = [],
    multiModel = {},
  } = draft
  const { grants = new Map<string, Grant>(), extra = {}, config = {}, tokens = [] } = multiModel
  const optional: Readonly<Record<string, Json | undefined>> = {
    active: isActive ? undefined : false,
    expiresAt,
    mustChangePassword: mustChangePassword ? true : undefined,
    password: password && toPasswordJson(password),
    keepsPassword: keepsPassword ? true : undefined,
    revision,
    sessionsFrom: sessionEpoch && toEpochJson(sessionEpoch),
    roles: unlessEmpty(roles),
    members: unlessEmpty(members),
    grants: grants.size > 0 ? toGrantsJson(grants) : undefined,
    extra: Object.keys(extra).length > 0 ? extra : undefined,
    config: Object.keys(config).length > 0 ? config : undefined,
    tokens: unlessEmpty(tokens.map((token) => ({ ...token }))),
  }
  const given = Object.entries(optional).filter((entry): entry is [string, Json] => entry[1] !== undefined)
  return { name, ...Object.fromEntries(given) }
}

/** Sessions are not exported, so none is kept. */
const toEpochJson = ({ generation, seconds }: SessionEpoch): Json | undefined =>
  generation + seconds > 0 ? { generation, seconds } : undefined

const unlessEmpty = (list: readonly Json[]): Json | undefined => (list.length > 0 ? list : undefined)

/** A stored password of any scheme becomes the members of a user document, which read back to the same password. */
function toPasswordJson(password: NewPassword): Json | undefined {
  if (!('stored' in password))
    return { clear: password.password, ...(password.salt === undefined ? {} : { salt: password.salt }) }
  const members = toDocumentMembers(password.stored)
  // members of documents came from JSON, or are texts and numbers
  return Object.keys(members).length > 0 ? (members as JsonObject) : undefined
}

const toGrantsJson = (grants: ReadonlyMap<string, Grant>): JsonObject =>
  Object.fromEntries(
    [...grants].map(([database, { level, collections }]) => [
      database,
      { level: level ?? null, collections: Object.fromEntries(collections) },
    ]),
  )
