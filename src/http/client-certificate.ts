// Client certificates. They are verified by TLS when a client connects, and kept for the requests of that connection.
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** The certificate of a client that connected to a listener with `clientCa`. */
export interface ClientCertificate {
  /** The values of `CN` in its subject; usually one. */
  readonly commonNames: readonly string[]
  readonly validFromMs: number
  readonly validToMs: number
  /** Why it is not accepted; `undefined`: an authority of `clientCa` signed it, and it is not revoked. */
  readonly problem: string | undefined
}

/** The authorities and revocation lists of a listener until they are replaced. */
export interface ClientTrust {
  isCurrent: boolean
}

const verified = new WeakMap<Socket, { readonly certificate: ClientCertificate; readonly trust: ClientTrust }>()

/** To be called when the handshake of a connection is complete. */
export function rememberClientCertificate(socket: TLSSocket, trust: ClientTrust): void {
  const certificate = socket.getPeerX509Certificate()
  // a resumed session without a certificate counts as authorized too
  if (!certificate) return
  const { CN: name } = certificate.toLegacyObject().subject
  verified.set(socket, {
    certificate: {
      commonNames: [name ?? []].flat(),
      validFromMs: certificate.validFromDate.getTime(),
      validToMs: certificate.validToDate.getTime(),
      problem: socket.authorized ? undefined : `TLS does not accept it (${String(socket.authorizationError)})`,
    },
    trust,
  })
}

/** The certificate of a connection; `undefined`: it has none, or its TLS does not end at a listener of Cardea. */
export function findClientCertificate(socket: Socket): ClientCertificate | undefined {
  const found = verified.get(socket)
  if (!found || found.trust.isCurrent) return found?.certificate
  return { ...found.certificate, problem: 'the authorities were replaced after the client connected' }
}

/** Whether the connection has a certificate that was verified with authorities or lists that were replaced since. */
export const hasOutdatedCertificate = (socket: Socket): boolean => verified.get(socket)?.trust.isCurrent === false
