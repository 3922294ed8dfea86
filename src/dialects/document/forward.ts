/** Forwards requests to CouchDB, and protects its configuration: no dangerous changes, no secrets in replies. */
import { readUtf8 } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { readJson } from '../../base/json.ts'
import type { Reply, RequestContext } from '../../http/request-context.ts'
import type { DoorUpstream } from '../services.ts'
import { checkForwardedChange, findConfigNames, isSecretSetting } from './config-guard.ts'

/** Forwards a request, unless it would change a protected option. Masks the secrets in a configuration. */
export function forwardGuarded(
  context: RequestContext,
  upstream: DoorUpstream,
  isOwnSection: (section: string) => boolean,
): Promise<Reply> {
  checkForwardedChange(context, isOwnSection)
  const names = findConfigNames(context.path.segments)
  return names === undefined ? upstream.forward(context) : forwardConfig(context, upstream, names)
}

/** A whole configuration is about ten kilobytes. */
const MAX_CONFIG_BYTES = 1 << 20

/** A reply that cannot be parsed is not forwarded: it could contain a secret. */
async function forwardConfig(
  context: RequestContext,
  upstream: DoorUpstream,
  names: readonly string[],
): Promise<Reply> {
  const reply = await upstream.forwardWhole(context, MAX_CONFIG_BYTES)
  if (context.method === 'HEAD' || reply.status >= 300) return reply
  const text = reply.body instanceof Uint8Array ? readUtf8(reply.body) : undefined
  const reading = readJson(text ?? '')
  if (reading.kind === 'refused') throw unreadable('not JSON')
  return { ...reply, body: `${JSON.stringify(maskSecrets(reading.value, names))}\n` }
}

const MASK = '***'

/** A configuration has two levels, sections and keys. The limit bounds the recursion. */
const MAX_DEPTH = 4

/** `names` are the section and the key that lead to the value. */
function maskSecrets(value: unknown, names: readonly string[], depth = 0): unknown {
  if (typeof value === 'string') return isSecretSetting(names, value) ? MASK : value
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) throw unreadable('nested too deeply')
  if (Array.isArray(value)) return value.map((item) => maskSecrets(item, names, depth + 1))
  const members = Object.entries(value).map(([name, inner]) => [name, maskSecrets(inner, [...names, name], depth + 1)])
  return Object.fromEntries(members)
}

const unreadable = (why: string): Refusal =>
  new Refusal('upstream_failed', { detail: `the configuration of the upstream is ${why}` })
