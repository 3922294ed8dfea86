import { toFingerprint, toTokenDigest } from '../directory/access-token.ts'
import type { AccessToken, Json, JsonObject } from '../directory/user.ts'
import { requireCount, requireObject, requireText } from './require.ts'

/** Reads an access token as the multi-model database keeps it, in clear. Only its digest is taken over. */
export function readAccessToken(value: Json): AccessToken {
  const entry = requireObject(value, 'An access token')
  const token = requireText(entry['token'], 'token of an access token')
  return {
    id: requireCount(entry['id'], 'id of an access token'),
    name: requireText(entry['name'], 'name of an access token'),
    createdAt: readTime(entry, 'created_at'),
    validUntil: readTime(entry, 'valid_until'),
    fingerprint: toFingerprint(token),
    digest: toTokenDigest(token),
  }
}

/** Seconds, perhaps with a fraction; nothing is 0, which is long past. */
function readTime(entry: JsonObject, member: string): number {
  const time = entry[member] ?? 0
  return requireCount(typeof time === 'number' ? Math.floor(time) : time, `${member} of an access token`)
}
