/** Which pages may use passkeys. */
import type { PasskeyRequest } from '../../auth/passkey-sign-in.ts'
import { LOCAL, type PasskeySettings, toRpId } from './options.ts'

/**
 * The origins whose pages may use passkeys. The port of a listener is read from the connection and not from the header
 * `Host`: another program on the host could have a page at another port and send the requests of its users on. Behind a
 * proxy the host has ports of its own, and that of the listener may belong to any program there.
 */
export function listOrigins(
  settings: PasskeySettings,
  { scheme, localPort, isTrusted }: PasskeyRequest['client'],
): readonly string[] {
  const { 'public-url': url } = settings.console
  const rpId = toRpId(settings)
  const isDirect = !isTrusted || rpId === LOCAL
  const page = url === '' ? undefined : new URL(url)
  const hosts = localPort === undefined || !isDirect ? [] : new Set([rpId, page?.hostname ?? rpId])
  return [
    ...(page ? [page.origin] : []),
    ...Array.from(hosts, (host) => new URL(`${scheme}://${host}:${localPort}`).origin),
    ...settings.passkeys.origins,
  ]
}
