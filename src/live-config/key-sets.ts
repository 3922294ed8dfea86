// The keys of `[jwt_keys]`, as lines and as files of key sets.

import { messageOf } from '../base/errors.ts'
import { readBounded } from '../base/files.ts'
import { readKeyLimits, toStrayProblem } from '../config/key-limits.ts'
import type { OpenEntry } from '../config/options.ts'
import type { Problem } from '../config/problems.ts'
import { renderSource, type Settings } from '../config/settings.ts'
import { readJwkSet } from '../keys/jwk.ts'
import { type JwtKeyEntry, type JwtKeys, readJwtKeys } from '../keys/jwt-keys.ts'

const MAX_SET_BYTES = 4 * 1024 * 1024

type Open = Settings['open']

/** Texts of the files that hold key sets, by their path. */
type KeySets = ReadonlyMap<string, string>

export function loadKeySets(open: Open) {
  const sets = new Map<string, string>()
  const problems: Problem[] = []
  for (const entry of open.jwt_keys.filter(isSet)) {
    try {
      sets.set(entry.text, readBounded(entry.text, MAX_SET_BYTES).bytes.toString())
    } catch (error) {
      problems.push(toKeyProblem(entry, messageOf(error)))
    }
  }
  return { sets, problems }
}

/** A file that is not a key set is a problem; it may be half written. Single keys of a set may be unusable. */
export function checkKeySets(open: Open, { sets, problems } = loadKeySets(open)): readonly Problem[] {
  const flaws = open.jwt_keys.flatMap(({ key, text: path, source }) => {
    const text = isSet({ key }) ? sets.get(path) : undefined
    const set = text === undefined ? undefined : readJwkSet(text, { secrets: true })
    return set?.kind === 'problem' ? [toKeyProblem({ key, source }, set.reason)] : []
  })
  return [...problems, ...flaws]
}

const toKeyProblem = ({ key, source }: Omit<OpenEntry, 'text'>, why: string): Problem => ({
  kind: 'bad-file',
  place: renderSource(source),
  message: `[jwt_keys] ${key}: ${why}`,
})

const isSet = ({ key }: Pick<OpenEntry, 'key'>): boolean => key.startsWith('jwks:')

/** The keys that lines and files contain. Unreadable ones are skipped. */
export const readKeys = (open: Open, sets: KeySets = loadKeySets(open).sets): JwtKeys =>
  readJwtKeys(
    open.jwt_keys.flatMap((entry) => toKeyEntry(entry, sets)),
    readKeyLimits(open.jwt_key_limits),
  )

type StrayLimits = Problem & { readonly key: string; readonly isFatal: boolean }

/** Limits without a key. They are a problem if a key is without limits, which may be meant by a misspelt name. */
export function listStrayLimits(open: Open, { strayLimits, keys }: JwtKeys): readonly StrayLimits[] {
  const isAnyFree = keys.some(([, { limits }]) => limits === undefined)
  return open.jwt_key_limits
    .filter(({ key }) => strayLimits.includes(key))
    .map((entry) => ({
      ...toStrayProblem(
        entry,
        keys.map(([name]) => name),
      ),
      key: entry.key,
      // a start cannot depend on what can be changed only while the server runs
      isFatal: isAnyFree && entry.source.kind !== 'run time',
    }))
}

function toKeyEntry(entry: OpenEntry, sets: KeySets): readonly JwtKeyEntry[] {
  if (!isSet(entry)) return [entry]
  const text = sets.get(entry.text)
  return text === undefined ? [] : [{ key: entry.key, text }]
}
