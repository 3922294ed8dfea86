// Hides the secrets in what a database behind this door tells of its configuration.
import { readUtf8 } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { readJson } from '../../base/json.ts'
import type { Reply, RequestContext } from '../../http/request-context.ts'
import { checkForwardedChange, findConfigNames, isSecretSetting } from './config-guard.ts'
import type { DocumentUpstream } from './upstream.ts'

const MASK = '***'
/** A whole configuration has some ten kilobytes. */
const MAX_CONFIG_BYTES = 1 << 20

/** Forwards a request that no route of this door answers; of a configuration only what may be changed and seen. */
export function forwardGuarded(
  context: RequestContext,
  upstream: DocumentUpstream,
  isOwnSection: (section: string) => boolean,
): Promise<Reply> {
  checkForwardedChange(context, isOwnSection)
  const names = findConfigNames(context.path.segments)
  return names === undefined ? upstream.forward(context) : forwardConfig(context, upstream, names)
}

/** What cannot be read is not passed on: it could hold a secret. */
async function forwardConfig(
  context: RequestContext,
  upstream: DocumentUpstream,
  names: readonly string[],
): Promise<Reply> {
  const reply = await upstream.forwardWhole(context, MAX_CONFIG_BYTES)
  if (context.method === 'HEAD' || reply.status >= 300) return reply
  const text = reply.body instanceof Uint8Array ? readUtf8(reply.body) : undefined
  const reading = readJson(text ?? '')
  if (reading.kind === 'refused') throw unreadable('not JSON')
  return { ...reply, body: `${JSON.stringify(hideSecrets(reading.value, names))}\n` }
}

/** Sections hold keys, keys hold texts. Deeper is not a configuration, and recursion must end. */
const MAX_DEPTH = 4

/** Names of a section and a key lead to each text, wherever it is. */
function hideSecrets(value: unknown, names: readonly string[], depth = 0): unknown {
  if (typeof value === 'string') return isSecretSetting(names, value) ? MASK : value
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) throw unreadable('nested too deeply')
  if (Array.isArray(value)) return value.map((item) => hideSecrets(item, names, depth + 1))
  const members = Object.entries(value).map(([name, inner]) => [name, hideSecrets(inner, [...names, name], depth + 1)])
  return Object.fromEntries(members)
}

const unreadable = (why: string): Refusal =>
  new Refusal('upstream_failed', { detail: `the configuration of the upstream is ${why}` })
