// Secrets with different uses must differ: otherwise a proof of one kind would be accepted as another.

import { trimHmacKey } from '../base/compare.ts'
import { digestHex } from '../base/encoding.ts'
import type { AllValues, Config } from '../config/options.ts'
import { KEY_PREFIX } from '../config/rules.ts'
import type { Settings } from '../config/settings.ts'
import type { VerificationKey } from '../keys/key.ts'
import type { KeyRing } from '../keys/ring.ts'
import type { RingLoad } from '../keys/secret-files.ts'
import { readKeys } from './key-sets.ts'

/** What a secret is used for, as messages name it. */
export const USES = {
  tokens: 'a secret of tokens',
  upstream: 'a secret of upstream.multi-model-secret-*',
  services: 'the key of upstream.service-keyfile',
  cookies: 'an earlier cookie secret that is still accepted',
} as const
export type Use = (typeof USES)[keyof typeof USES]

/** As keys, or as the bytes of a text. */
export type Keys = readonly (VerificationKey | Uint8Array)[]

/** Two uses of one secret. */
export interface SharedPair {
  readonly names: readonly [string, string]
  readonly message: string
}

/** The secrets from files that a process uses, in addition to those of its settings. */
export type SharedSecrets = ReturnType<typeof createSharedSecrets>

interface Named {
  readonly name: string
  readonly digests: ReadonlySet<string>
}

export function createSharedSecrets() {
  const inUse = new Map<Use, () => Keys>()
  /** All pairs that are the same. `replaced` takes the place of the registered secrets. */
  const list = (all: AllValues, replaced: ReadonlyMap<Use, Keys> = new Map()): readonly SharedPair[] => {
    const now = new Map<Use, Keys>([...inUse].map(([use, keys]) => [use, keys()]))
    const named = [...new Map([...now, ...replaced])].map(([use, keys]) => toNamed(use, keys))
    const cookies = named.filter(({ name }) => name === USES.cookies)
    return findPairs([...named.filter(({ name }) => name !== USES.cookies), ...listConfigured(all), ...cookies])
  }
  return {
    /** Registers the secrets of one use. */
    register: (use: Use, keys: () => Keys) => void inUse.set(use, keys),
    /** The secrets of one use now. */
    find: (use: Use): Keys => inUse.get(use)?.() ?? [],
    /** The first pair, as a message. */
    check: (all: AllValues, replaced?: ReadonlyMap<Use, Keys>) => list(all, replaced)[0]?.message,
    list,
  }
}

export const keysOf = ({ verifying }: KeyRing): readonly VerificationKey[] => verifying.map(({ key }) => key)

/** A ring that may come into use, unless one of its secrets is used for something else. */
export function refuseShared(load: RingLoad, use: Use, settings: Settings, secrets: SharedSecrets): RingLoad {
  if (load.kind === 'refused') return load
  const reason = secrets.check(settings, new Map([[use, keysOf(load.ring)]]))
  return reason === undefined ? load : { kind: 'refused', errorNum: 10, message: reason, reason }
}

/** For key pairs the public key: it identifies the pair. */
export function digestOf(key: Keys[number]): string {
  if (key instanceof Uint8Array) return digestHex('sha256', Buffer.from(trimHmacKey(key)))
  return key.kind === 'hmac'
    ? digestOf(key.key.export())
    : digestHex('sha256', key.key.export({ type: 'spki', format: 'der' }))
}

const toNamed = (name: string, keys: Keys): Named => ({ name, digests: new Set(keys.map(digestOf)) })

function listConfigured(all: AllValues): readonly Named[] {
  const texts = listTexts(all.values).filter(([, secret]) => secret !== '')
  return [
    ...texts.map(([name, secret]) => toNamed(name, [Buffer.from(secret)])),
    ...readKeys(all.open).keys.map(([name, key]) => toNamed(`${KEY_PREFIX}${name}`, [key])),
  ]
}

const listTexts = ({ chttpd_auth: auth, upstream }: Config): readonly (readonly [string, string])[] => [
  ['chttpd_auth.secret', auth.secret],
  ['upstream.document-secret', upstream['document-secret']],
]

const findPairs = (all: readonly Named[]): readonly SharedPair[] =>
  all.flatMap((one, index) =>
    all
      .slice(index + 1)
      .filter((other) => !isOneUse(one.name, other.name) && !one.digests.isDisjointFrom(other.digests))
      .map(({ name }) => ({
        names: [one.name, name] as const,
        message: `${one.name} is also ${name}: they must be different`,
      })),
  )

/** Two keys of `[jwt_keys]` may be the same (an old name kept for a while), and an earlier cookie secret may return. */
const isOneUse = (one: string, other: string): boolean =>
  (one.startsWith('[') && other.startsWith('[')) || (one === 'chttpd_auth.secret' && other === USES.cookies)
