import type { CredentialHandler, CredentialSource, Verdict } from '../../src/auth/handler.ts'

/** The verdict of a handler, whether it has to wait or not. */
export async function readVerdict(handler: CredentialHandler, source: CredentialSource): Promise<Verdict> {
  const verdict = handler.read(source)
  return typeof verdict === 'function' ? verdict() : verdict
}
