// Loads the certificate and private key of a TLS listener. A problem names the option and the file, not the library.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureVersion } from 'node:tls'
import { attempt, codeOf, messageOf } from '../base/errors.ts'
import { readBounded } from '../base/files.ts'
import type { ClientAuthorities, TlsFiles, TlsSettings } from './server.ts'

/** A file and the option that names it. */
export interface NamedFile {
  readonly option: string
  readonly path: string
}

/** What the listener offers besides its certificate, and whose certificates it accepts. */
export interface TlsProtocol {
  readonly minVersion?: SecureVersion
  /** In the format of OpenSSL, and the option that sets it. By default Node chooses. */
  readonly cipherList?: { readonly option: string; readonly text: string }
  readonly clients?: ClientFiles | undefined
}

/** The files that decide which client certificates are accepted. */
export interface ClientFiles {
  readonly ca: NamedFile
  readonly crl?: NamedFile | undefined
}

/** The files of a certificate, which may be the same file, and what is offered with it. */
export interface TlsSource {
  readonly cert: NamedFile
  readonly key: NamedFile
  readonly protocol: TlsProtocol
}

export type TlsLoad =
  | { readonly kind: 'files'; readonly files: TlsSettings }
  | { readonly kind: 'problem'; readonly message: string }

export function loadTlsFiles({ cert, key, protocol }: TlsSource): TlsLoad {
  try {
    const files = { cert: readText(cert), key: readText(key) }
    const certificate = readCertificate(files.cert, cert)
    const privateKey = readKey(files.key, key)
    if (!certificate.checkPrivateKey(privateKey))
      throw new TlsProblem(key, `the private key does not belong to the certificate in ${cert.path}`)
    const offered = { ...files, ...toOffer(protocol) }
    tryContext(offered, cert)
    const clients = protocol.clients && loadAuthorities(protocol.clients)
    return { kind: 'files', files: { ...offered, ...(clients && { clients }) } }
  } catch (error) {
    if (error instanceof TlsProblem) return { kind: 'problem', message: error.message }
    throw error
  }
}

class TlsProblem extends Error {
  constructor({ option, path }: NamedFile, problem: string) {
    super(path === '' ? `${option} is not set` : `${option}: ${path}: ${problem}`)
  }
}

/** Throws if no cipher remains. */
function toOffer({ minVersion, cipherList }: TlsProtocol): Omit<TlsSettings, keyof TlsFiles | 'clients'> {
  const version = minVersion && { minVersion }
  if (!cipherList) return { ...version }
  const { option, text: ciphers } = cipherList
  if (attempt(() => createSecureContext({ ...version, ciphers }))) return { ...version, ciphers }
  throw new TlsProblem({ option, path: ciphers }, 'the TLS library knows no cipher of this list')
}

function loadAuthorities({ ca, crl }: ClientFiles): ClientAuthorities {
  const certificates = splitPem(readText(ca), 'CERTIFICATE')
  if (certificates.length === 0) throw new TlsProblem(ca, 'the file contains no certificate in PEM')
  for (const text of certificates)
    if (!readCertificate(text, ca).ca) throw new TlsProblem(ca, 'a certificate in it is not that of an authority')
  return { certificates, revocations: crl ? loadRevocations(crl) : [] }
}

function loadRevocations(file: NamedFile): readonly string[] {
  const revocations = splitPem(readText(file), 'X509 CRL')
  if (revocations.length === 0) throw new TlsProblem(file, 'the file contains no revocation list in PEM')
  if (attempt(() => createSecureContext({ crl: revocations }))) return revocations
  throw new TlsProblem(file, 'a revocation list is damaged')
}

const splitPem = (text: string, label: string): string[] =>
  text.match(new RegExp(`-----BEGIN ${label}-----[^-]*-----END ${label}-----`, 'g')) ?? []

/** Enough for a chain of certificates and a key. */
const MAX_BYTES = 1_048_576

function readText(file: NamedFile): string {
  try {
    return readBounded(file.path, MAX_BYTES).bytes.toString()
  } catch (error) {
    throw new TlsProblem(file, FILE_PROBLEMS.get(codeOf(error)) ?? messageOf(error))
  }
}

const FILE_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EACCES', 'this process may not read the file'],
])

function readCertificate(text: string, file: NamedFile): X509Certificate {
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new TlsProblem(file, 'the file contains no certificate in PEM')
  const certificate = attempt(() => new X509Certificate(text))
  if (certificate) return certificate
  throw new TlsProblem(file, 'the certificate is damaged')
}

function readKey(text: string, file: NamedFile): KeyObject {
  if (!/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text))
    throw new TlsProblem(file, 'the file contains no private key in PEM')
  if (/-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(text))
    throw new TlsProblem(file, 'the private key is encrypted: store it without a passphrase')
  const key = attempt(() => createPrivateKey(text))
  if (key) return key
  throw new TlsProblem(file, 'the private key is damaged')
}

/** What the TLS library rejects although all can be read, such as a key that is too short for the level of the ciphers. */
function tryContext(files: TlsSettings, file: NamedFile): void {
  try {
    createSecureContext(files)
  } catch (error) {
    const code = codeOf(error)
    const damaged = DAMAGED.test(code) ? 'a certificate in the chain is damaged' : undefined
    throw new TlsProblem(file, CONTEXT_PROBLEMS.get(code) ?? damaged ?? `the TLS library rejects it (${code})`)
  }
}

const DAMAGED = /^ERR_OSSL_(?:ASN1|PEM)/

const CONTEXT_PROBLEMS: ReadonlyMap<string, string> = new Map([
  ['ERR_SSL_EE_KEY_TOO_SMALL', 'the key of the certificate is too short'],
  ['ERR_SSL_CA_KEY_TOO_SMALL', 'the key of a certificate in the chain is too short'],
  ['ERR_SSL_CA_MD_TOO_WEAK', 'a certificate in the chain has a signature that is too weak'],
])

/** Why clients reject a certificate now, because of its dates; `undefined`: they do not. */
export function checkCertificateDates(
  { validFromDate, validToDate }: Pick<X509Certificate, 'validFromDate' | 'validToDate'>,
  nowMs: number,
): string | undefined {
  if (validFromDate.getTime() > nowMs) return 'is not valid yet'
  return validToDate.getTime() <= nowMs ? `expired on ${renderDay(validToDate)}` : undefined
}

export const renderDay = (date: Date): string => date.toISOString().slice(0, 10)
