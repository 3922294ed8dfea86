// Secrets of different use must be different: one that does two things would let one kind of proof pass for another.
import type { Config } from '../config/options.ts'
import type { Given, Settings } from '../config/settings.ts'
import type { VerificationKey } from '../keys/key.ts'
import { type KeyRing, sha256Hex } from '../keys/ring.ts'
import type { RingLoad } from '../keys/secret-files.ts'
import { readConfiguredKeys } from './key-sets.ts'

/** What a secret is for, as a sentence names it. */
export const USES = {
  tokens: 'a secret of tokens',
  upstream: 'a secret of upstream.multi-model-secret-*',
  services: 'the key of upstream.service-keyfile',
} as const
export type Use = (typeof USES)[keyof typeof USES]

type Keys = readonly VerificationKey[]

/** The secrets a process uses that stand in files, beside those of its settings. */
export interface SharedSecrets {
  /** From now on what this gives is in use. */
  register(use: Use, keys: () => Keys): void
  /** What is wrong where two are the same; `replaced` stands in place of what is in use. */
  check(given: Given, replaced?: ReadonlyMap<Use, Keys>): string | undefined
}

interface Named {
  readonly name: string
  readonly digests: ReadonlySet<string>
}

export function createSharedSecrets(): SharedSecrets {
  const inUse = new Map<Use, () => Keys>()
  return {
    register: (use, keys) => void inUse.set(use, keys),
    check(given, replaced = new Map()) {
      const now = new Map<Use, Keys>([...inUse].map(([use, keys]) => [use, keys()]))
      const files = [...now, ...replaced].map(([use, keys]) => toNamed(use, keys))
      const last = new Map(files.map((named) => [named.name, named]))
      return findPair([...last.values(), ...listConfigured(given)])
    },
  }
}

export const keysOf = ({ verifying }: KeyRing): Keys => verifying.map(({ key }) => key)

/** A ring that may come into use, unless one of its secrets is used for something else. */
export function refuseShared(load: RingLoad, use: Use, settings: Settings, secrets: SharedSecrets): RingLoad {
  if (load.kind === 'refused') return load
  const message = secrets.check(settings, new Map([[use, keysOf(load.ring)]]))
  return message === undefined ? load : { kind: 'refused', errorNum: 10, message }
}

/** Of a pair of keys the public half: who has the private one can sign for whoever trusts it. */
const digestOf = ({ kind, key }: VerificationKey): string =>
  sha256Hex(kind === 'hmac' ? key.export() : key.export({ type: 'spki', format: 'der' }))

const toNamed = (name: string, keys: Keys): Named => ({ name, digests: new Set(keys.map(digestOf)) })

function listConfigured(given: Given): readonly Named[] {
  const texts = listTexts(given.values).filter(([, secret]) => secret !== '')
  return [
    ...texts.map(([name, secret]) => ({ name, digests: new Set([sha256Hex(Buffer.from(secret))]) })),
    ...readConfiguredKeys(given).keys.map(([name, key]) => toNamed(`[jwt_keys] ${name}`, [key])),
  ]
}

const listTexts = ({ chttpd_auth: auth, upstream }: Config): readonly (readonly [string, string])[] => [
  ['chttpd_auth.secret', auth.secret],
  ['upstream.document-secret', upstream['document-secret']],
]

/** Two keys of others may be alike: an old name, kept for a while. */
function findPair(all: readonly Named[]): string | undefined {
  const isKey = ({ name }: Named) => name.startsWith('[')
  for (const [index, one] of all.entries()) {
    const twin = all
      .slice(index + 1)
      .find((other) => !(isKey(one) && isKey(other)) && !one.digests.isDisjointFrom(other.digests))
    if (twin) return `${one.name} is also ${twin.name}: they must be different`
  }
  return undefined
}
