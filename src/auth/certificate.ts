// Client certificates: the common name of the subject is the name of the user.
import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { needsSecondStep } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import type { CredentialKind } from '../directory/identity.ts'
import {
  ABSENT,
  accept,
  type CredentialHandler,
  type CredentialSource,
  isName,
  reject,
  type Verdict,
} from './handler.ts'

export const CERTIFICATE_HANDLER = 'certificate'

export const CERTIFICATE: CredentialKind = { name: 'client certificate', sentByBrowser: 'connection' }

export interface CertificateDeps {
  readonly directory: Pick<Directory, 'findAccount'>
  readonly clock: Clock
}

/**
 * Used last: a credential in the request itself takes precedence over that of the connection. TLS verified the certificate
 * when the client connected, but it may have expired since, and a resumed TLS session is not verified again.
 */
export const createCertificateHandler = (deps: CertificateDeps): CredentialHandler => ({
  name: CERTIFICATE_HANDLER,
  kinds: [CERTIFICATE],
  read(source) {
    const { certificate } = source
    if (certificate === undefined || isForwarded(source)) return ABSENT
    const { problem, validFromMs, validToMs, commonNames } = certificate
    if (problem !== undefined) return refuseCertificate(problem)
    const nowMs = deps.clock.nowMs()
    if (nowMs < validFromMs) return refuseCertificate('it is not valid yet')
    if (nowMs >= validToMs) return refuseCertificate('it has expired')
    const [name = '', ...others] = commonNames
    if (others.length > 0 || !isName(name))
      return refuseCertificate('its subject must have exactly one common name, which must be a user name')
    return () => checkUser(name, validToMs, deps)
  },
})

/** A certificate replaces neither the password of an administrator nor the second factor of a user. */
async function checkUser(name: string, validToMs: number, { directory }: CertificateDeps): Promise<Verdict> {
  const account = await directory.findAccount(name)
  if (!account) return refuseCertificate('there is no active user of its common name')
  if (account.isAdmin) return refuseCertificate('its common name is that of an administrator')
  if (needsSecondStep(account)) return refuseCertificate('the user has a second factor')
  return accept(account, { kind: CERTIFICATE, handler: CERTIFICATE_HANDLER, expiresAt: Math.floor(validToMs / 1000) })
}

const refuseCertificate = (reason: string): Verdict =>
  reject(new Refusal('certificate_refused', { detail: `client certificate: ${reason}` }))

const PROXY_HEADER = /^(?:forwarded|via|x-real-ip|x-forwarded(?:-.*)?)$/i

/** Whether the peer is a proxy. Then the certificate is that of the proxy, and the client's TLS ended there. */
const isForwarded = (source: CredentialSource): boolean =>
  source.client.address !== source.client.directAddress ||
  source.rawHeaders.some((name, index) => index % 2 === 0 && PROXY_HEADER.test(name))
