// Tokens and keys made with `node:crypto` alone, independent of the code under test.
import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

export const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

const SALT = constants.RSA_PSS_SALTLEN_DIGEST
const PSS = constants.RSA_PKCS1_PSS_PADDING

export type Signer = (bytes: Buffer) => Buffer

/** Signs with any key, as the name of the algorithm says. */
export function signerFor(alg: string, key: KeyObject | Buffer | string): Signer {
  const digest = `sha${alg.slice(2)}`
  if (alg.startsWith('HS')) return (bytes) => createHmac(digest, key).update(bytes).digest()
  const own = key as KeyObject // the asymmetric rows are always given one
  if (alg.startsWith('PS')) return (bytes) => sign(digest, bytes, { key: own, padding: PSS, saltLength: SALT })
  if (alg.startsWith('RS')) return (bytes) => sign(digest, bytes, own)
  if (alg.startsWith('ES')) return (bytes) => sign(digest, bytes, { key: own, dsaEncoding: 'ieee-p1363' })
  return (bytes) => sign(null, bytes, own)
}

export function makeToken(header: unknown, claims: unknown, signer: Signer): string {
  const signed = `${encode(header)}.${encode(claims)}`
  return `${signed}.${signer(Buffer.from(signed)).toString('base64url')}`
}

export const makeSigned = (alg: string, key: KeyObject | Buffer | string, claims: unknown = { sub: 'jan' }): string =>
  makeToken({ alg, typ: 'JWT' }, claims, signerFor(alg, key))

export const PAIRS = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  p521: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  ed25519: generateKeyPairSync('ed25519'),
  ed448: generateKeyPairSync('ed448'),
} as const

export const toPem = (key: KeyObject): string => key.export({ format: 'pem', type: 'spki' }).toString()
export const toPrivatePem = (key: KeyObject): string => key.export({ format: 'pem', type: 'pkcs8' }).toString()
export const toOneLine = (pem: string): string => pem.trim().replaceAll('\n', '\\n')
