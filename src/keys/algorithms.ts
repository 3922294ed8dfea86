export type KeyKind = 'hmac' | 'rsa' | 'ec' | 'eddsa'
export type Curve = (typeof CURVE_ROWS)[number]['curve']

export interface Algorithm {
  readonly name: string
  /** The one kind of key it is for. */
  readonly kind: KeyKind
  /** The name in `node:crypto`; `null`: the algorithm includes its digest. */
  readonly digest: string | null
  /** The curves its key may be on; empty if it has none. */
  readonly curves: readonly Curve[]
  /** HMAC only: the length of a signature, and the least of a secret in a JWK (RFC 7518 3.2). */
  readonly macBytes: number | undefined
  readonly isPss: boolean
}

/** `nodeName`: the curve of an EC `KeyObject`, or the type of another one. */
const CURVE_ROWS = [
  { curve: 'P-256', kind: 'ec', nodeName: 'prime256v1', coordinateBytes: 32, signatureBytes: 64 },
  { curve: 'P-384', kind: 'ec', nodeName: 'secp384r1', coordinateBytes: 48, signatureBytes: 96 },
  { curve: 'P-521', kind: 'ec', nodeName: 'secp521r1', coordinateBytes: 66, signatureBytes: 132 },
  { curve: 'Ed25519', kind: 'eddsa', nodeName: 'ed25519', coordinateBytes: 32, signatureBytes: 64 },
  { curve: 'Ed448', kind: 'eddsa', nodeName: 'ed448', coordinateBytes: 57, signatureBytes: 114 },
] as const

export const CURVES: ReadonlyMap<string, (typeof CURVE_ROWS)[number]> = new Map(
  CURVE_ROWS.map((row) => [row.curve, Object.freeze(row)]),
)

/** RFC 7518 3.3 and 3.5. */
export const MINIMUM_RSA_BITS = 2048

const BITS = [256, 384, 512]

const toRow = (name: string, kind: KeyKind, digest: Algorithm['digest'], others: Partial<Algorithm> = {}): Algorithm =>
  Object.freeze({ name, kind, digest, curves: [], macBytes: undefined, isPss: false, ...others })

/** Every algorithm a token may name. `none` is not among them. */
export const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map(
  [
    ...BITS.map((bits) => toRow(`HS${bits}`, 'hmac', `sha${bits}`, { macBytes: bits / 8 })),
    ...BITS.map((bits) => toRow(`RS${bits}`, 'rsa', `sha${bits}`)),
    ...BITS.map((bits) => toRow(`PS${bits}`, 'rsa', `sha${bits}`, { isPss: true })),
    toRow('ES256', 'ec', 'sha256', { curves: ['P-256'] }),
    toRow('ES384', 'ec', 'sha384', { curves: ['P-384'] }),
    toRow('ES512', 'ec', 'sha512', { curves: ['P-521'] }),
    toRow('EdDSA', 'eddsa', null, { curves: ['Ed25519', 'Ed448'] }),
  ].map((row) => [row.name, row]),
)
