import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { readBase64 } from '../base/encoding.ts'
import {
  attempt,
  type KeyNames,
  type KeyProblem,
  type KeyProblemCode,
  toKeyProblem,
  toVerificationKey,
  type VerificationKey,
} from './key.ts'

export interface PemBlock {
  readonly label: string
  readonly der: Buffer
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,40})-----([A-Za-z0-9+/=\s]{1,20000})-----END \1-----/g

/** The blocks of a PEM text. Blocks with headers (encrypted keys) or invalid base64 are left out. */
export function readPem(text: string): readonly PemBlock[] {
  return [...text.matchAll(BLOCK)].flatMap(([, label = '', body = '']) => {
    const der = readBase64(body)
    return der === undefined ? [] : [{ label, der }]
  })
}

const PUBLIC_FORMS: ReadonlyMap<string, 'spki' | 'pkcs1'> = new Map([
  ['PUBLIC KEY', 'spki'],
  ['RSA PUBLIC KEY', 'pkcs1'],
])

const WRONG_KIND = { rsa: 'not_rsa', ec: 'not_ec', eddsa: 'not_eddsa' } as const satisfies Record<
  string,
  KeyProblemCode
>

export type PublicKind = keyof typeof WRONG_KIND

/**
 * Reads a public key of this kind from one PEM block, on several lines or on one line with `\n` as two characters. A
 * private key is rejected: it does not belong in a place for public keys.
 */
export function readPublicPem(text: string, kind: PublicKind, names: KeyNames = {}): VerificationKey | KeyProblem {
  const [block, ...others] = readPem(text.replaceAll('\\r', '\r').replaceAll('\\n', '\n'))
  if (block === undefined || others.length > 0) return toKeyProblem('invalid')
  const key = findPublicKey(block)
  if (key === undefined) return toKeyProblem(PUBLIC_FORMS.has(block.label) ? 'invalid' : WRONG_KIND[kind])
  const made = toVerificationKey(key, names)
  return made.kind === kind || made.kind === 'problem' ? made : toKeyProblem(WRONG_KIND[kind])
}

export function findPublicKey({ label, der }: PemBlock): KeyObject | undefined {
  const type = PUBLIC_FORMS.get(label)
  return type && attempt(() => createPublicKey({ key: der, format: 'der', type }))
}

const PRIVATE_FORMS: ReadonlyMap<string, 'pkcs8' | 'sec1'> = new Map([
  ['PRIVATE KEY', 'pkcs8'],
  ['EC PRIVATE KEY', 'sec1'],
])

export function findPrivateKey({ label, der }: PemBlock): KeyObject | undefined {
  const type = PRIVATE_FORMS.get(label)
  return type && attempt(() => createPrivateKey({ key: der, format: 'der', type }))
}
