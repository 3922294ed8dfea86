// The key that signs for services: from a file, or generated for the lifetime of this process.
import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Settings } from '../config/settings.ts'
import { StartError } from '../kernel/start-error.ts'
import { toVerificationKey } from '../keys/key.ts'
import { generatePrivateKey } from '../keys/new-secret.ts'
import { readSecret } from '../keys/secret.ts'
import { type Signer, type SigningKey, signToken, toEcSigningKey } from '../keys/sign.ts'
import type { LiveConfig } from './live-config.ts'
import { type SharedSecrets, USES } from './shared-secrets.ts'

/** The key a server with these settings would start with. */
export function loadServiceKey(
  settings: Settings,
  secrets: SharedSecrets,
  generated: KeyObject = generatePrivateKey(),
): SigningKey {
  const { upstream } = settings.values
  const key = upstream['service-keyfile'] === '' ? toSigning(generated) : loadKey(upstream['service-keyfile'])
  const message = secrets.check(settings, new Map([[USES.services, [key.verifying]]]))
  if (message !== undefined) throw new StartError(message)
  return key
}

export type ServiceKey = ReturnType<typeof openServiceKey>

/** `jwk` is its public half, for services that verify. */
export function openServiceKey({ get, secrets, generatedKey }: LiveConfig) {
  const key = loadServiceKey(get().settings, secrets, generatedKey)
  secrets.register(USES.services, () => [key.verifying])
  const { kty, crv, x, y } = key.verifying.key.export({ format: 'jwk' })
  // RFC 7638: these members, in this order
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
  const signer: Signer = { version: kid, sign: (claims) => signToken({ typ: 'JWT', kid }, claims, key) }
  return {
    signer,
    jwk: { kty, crv, x, y, kid, alg: 'ES256', use: 'sig' },
  }
}

function toSigning(privateKey: KeyObject): SigningKey {
  const verifying = toVerificationKey(createPublicKey(privateKey), { alg: 'ES256' })
  if (verifying.kind !== 'ec') throw new TypeError('a key on P-256 is one')
  return toEcSigningKey(privateKey, verifying)
}

function loadKey(file: string): SigningKey {
  const secret = readSecret(loadFile(file))
  if (secret.kind === 'signer' && secret.signer.key.alg === 'ES256') return secret.signer.key
  throw new StartError(`upstream.service-keyfile: ${file} holds no private key on P-256 in PEM`)
}

function loadFile(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new StartError(`upstream.service-keyfile: ${file} cannot be read`, { cause: error })
  }
}
