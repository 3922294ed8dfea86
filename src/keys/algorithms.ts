export type KeyKind = 'hmac' | 'rsa' | 'ec' | 'eddsa'
export type EcCurve = 'P-256' | 'P-384' | 'P-521'
export type EdCurve = 'Ed25519' | 'Ed448'
export type Curve = EcCurve | EdCurve

export interface Algorithm {
  readonly name: string
  /** The one kind of key it is for. */
  readonly kind: KeyKind
  /** The name in `node:crypto`; `null`: the algorithm includes its digest. */
  readonly digest: string | null
  /** The curves its key may be on; empty if it has none. */
  readonly curves: readonly Curve[]
  /** Length of a signature; `undefined`: the key decides. */
  readonly signatureBytes: number | undefined
  /** Minimum length of an RSA modulus, or of an HMAC secret in a JWK (RFC 7518 3.2). */
  readonly keyBytes: number
  readonly isPss: boolean
}

export interface CurveRow {
  readonly kind: 'ec' | 'eddsa'
  /** The curve of an EC `KeyObject`, or the type of another one. */
  readonly nodeName: string
  readonly coordinateBytes: number
  readonly signatureBytes: number
}

export const CURVES: ReadonlyMap<string, CurveRow & { readonly curve: Curve }> = new Map(
  (
    [
      { curve: 'P-256', kind: 'ec', nodeName: 'prime256v1', coordinateBytes: 32, signatureBytes: 64 },
      { curve: 'P-384', kind: 'ec', nodeName: 'secp384r1', coordinateBytes: 48, signatureBytes: 96 },
      { curve: 'P-521', kind: 'ec', nodeName: 'secp521r1', coordinateBytes: 66, signatureBytes: 132 },
      { curve: 'Ed25519', kind: 'eddsa', nodeName: 'ed25519', coordinateBytes: 32, signatureBytes: 64 },
      { curve: 'Ed448', kind: 'eddsa', nodeName: 'ed448', coordinateBytes: 57, signatureBytes: 114 },
    ] as const
  ).map((row) => [row.curve, Object.freeze(row)]),
)

const hmac = (bits: number): Algorithm => ({
  name: `HS${bits}`,
  kind: 'hmac',
  digest: `sha${bits}`,
  curves: [],
  signatureBytes: bits / 8,
  keyBytes: bits / 8,
  isPss: false,
})

/** RFC 7518 3.3 and 3.5. */
export const MINIMUM_RSA_BITS = 2048

const rsa = (prefix: 'RS' | 'PS', bits: number): Algorithm => ({
  name: `${prefix}${bits}`,
  kind: 'rsa',
  digest: `sha${bits}`,
  curves: [],
  signatureBytes: undefined,
  keyBytes: MINIMUM_RSA_BITS / 8,
  isPss: prefix === 'PS',
})

const ec = (bits: number, curve: EcCurve, coordinateBytes: number): Algorithm => ({
  name: `ES${bits}`,
  kind: 'ec',
  digest: `sha${bits}`,
  curves: [curve],
  signatureBytes: 2 * coordinateBytes,
  keyBytes: coordinateBytes,
  isPss: false,
})

const EDDSA: Algorithm = {
  name: 'EdDSA',
  kind: 'eddsa',
  digest: null,
  curves: ['Ed25519', 'Ed448'],
  signatureBytes: undefined,
  keyBytes: 32,
  isPss: false,
}

/** Every algorithm a token may name. `none` is not among them. */
export const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map(
  [
    ...[256, 384, 512].map(hmac),
    ...[256, 384, 512].map((bits) => rsa('RS', bits)),
    ...[256, 384, 512].map((bits) => rsa('PS', bits)),
    ec(256, 'P-256', 32),
    ec(384, 'P-384', 48),
    ec(512, 'P-521', 66),
    EDDSA,
  ].map((row) => [row.name, Object.freeze(row)]),
)
