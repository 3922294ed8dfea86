/** A software authenticator: makes passkeys and signs with them, as a browser and a device do together. */
import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest()

/** The part of CBOR that is needed: integers, byte strings, texts, maps. */
function encode(value: number | string | Uint8Array | ReadonlyMap<number | string, unknown>): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  const entries = [...value].flatMap(([key, each]) => [encode(key), encode(each as never)])
  return Buffer.concat([head(5, value.size), ...entries])
}

function head(type: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(type << 5) | length])
  if (length < 256) return Buffer.from([(type << 5) | 24, length])
  return Buffer.from([(type << 5) | 25, length >> 8, length & 0xff])
}

const FLAGS = { present: 0x01, verified: 0x04, canSync: 0x08, hasKey: 0x40 }

export interface Held {
  readonly id: string
  readonly key: KeyObject
  readonly userHandle: string
  counter: number
}

/** What a test changes of a response. */
export interface Tampering {
  readonly origin?: string
  readonly rpId?: string
  readonly type?: string
  readonly crossOrigin?: boolean
  readonly topOrigin?: string
  readonly isVerified?: boolean
  readonly userHandle?: string
  readonly counter?: number
  readonly algorithm?: number
  readonly challenge?: string
  readonly id?: string
  /** Of the attestation. */
  readonly format?: string
  readonly transports?: unknown
  /** Bytes that are added to the key. */
  readonly padding?: number
}

export interface AuthenticatorOptions {
  readonly challenge: string
  readonly rpId?: string
  readonly rp?: { readonly id: string }
  readonly user?: { readonly id: string }
}

export function createAuthenticator(origin: string, { isSynced = false, counts = false } = {}) {
  const held: Held[] = []
  const toClientData = (type: string, { challenge }: AuthenticatorOptions, change: Tampering) =>
    Buffer.from(
      JSON.stringify({
        type: change.type ?? type,
        challenge: change.challenge ?? challenge,
        origin: change.origin ?? origin,
        crossOrigin: change.crossOrigin ?? false,
        ...(change.topOrigin && { topOrigin: change.topOrigin }),
      }),
    )
  const toData = (rpId: string, counter: number, change: Tampering, more = Buffer.alloc(0)) => {
    const flags =
      FLAGS.present |
      ((change.isVerified ?? true) ? FLAGS.verified : 0) |
      (isSynced ? FLAGS.canSync : 0) |
      (more.length > 0 ? FLAGS.hasKey : 0)
    const count = Buffer.alloc(4)
    count.writeUInt32BE(change.counter ?? counter)
    return Buffer.concat([sha256(change.rpId ?? rpId), Buffer.from([flags]), count, more])
  }
  return {
    held,
    /** The response to options for a new passkey. */
    create(options: AuthenticatorOptions, change: Tampering = {}) {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
      const id = change.id === undefined ? randomBytes(16) : Buffer.from(change.id, 'base64url')
      const cose = new Map<number, number | Uint8Array>([
        [1, 2],
        [3, change.algorithm ?? -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
        ...(change.padding === undefined ? [] : [[-4, Buffer.alloc(change.padding)] as const]),
      ])
      const length = Buffer.from([id.length >> 8, id.length & 0xff])
      const attested = Buffer.concat([Buffer.alloc(16), length, id, encode(cose)])
      const authData = toData(options.rp?.id ?? '', 0, change, attested)
      const text = id.toString('base64url')
      held.push({ id: text, key: privateKey, userHandle: options.user?.id ?? '', counter: 0 })
      const attestation = new Map<string, unknown>([
        ['fmt', change.format ?? 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ])
      return {
        id: text,
        rawId: text,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: toClientData('webauthn.create', options, change).toString('base64url'),
          attestationObject: encode(attestation).toString('base64url'),
          transports: 'transports' in change ? change.transports : ['internal', 'telepathy'],
        },
      }
    },
    /** The response to options for a sign-in, with the newest passkey or that of this id. */
    sign(options: AuthenticatorOptions, change: Tampering = {}) {
      const passkey = held.find(({ id }) => id === change.id) ?? held.at(-1)
      if (!passkey) throw new Error('the authenticator has no passkey')
      if (counts) passkey.counter += 1
      const clientData = toClientData('webauthn.get', options, change)
      const authenticatorData = toData(options.rpId ?? '', passkey.counter, change)
      const signed = Buffer.concat([authenticatorData, sha256(clientData)])
      return {
        id: passkey.id,
        rawId: passkey.id,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientData.toString('base64url'),
          authenticatorData: authenticatorData.toString('base64url'),
          signature: createSign('sha256').update(signed).sign(passkey.key).toString('base64url'),
          userHandle: change.userHandle ?? passkey.userHandle,
        },
      }
    },
  }
}
