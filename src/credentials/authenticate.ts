/**
 * What enters: the credentials of a request. What leaves: who is asking, and which handler vouches for it. A
 * credential that is present and wrong ends the search: it never slides on to a weaker check.
 */
import { ANONYMOUS, type Authenticated } from '../identity/identity.ts'
import type { CredentialHandler, CredentialSource } from './handler.ts'

export async function authenticate(
  source: CredentialSource,
  handlers: readonly CredentialHandler[],
): Promise<Authenticated> {
  for (const handler of handlers) {
    const read = handler.read(source)
    const verdict = read instanceof Promise ? await read : read
    if (verdict.kind === 'refused') throw verdict.error
    if (verdict.kind === 'accepted') {
      const { kind: _kind, ...accepted } = verdict
      return { ...accepted, by: handler.name }
    }
  }
  return ANONYMOUS
}
