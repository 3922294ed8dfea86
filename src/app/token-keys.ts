// The keys of tokens others sign: those of `[jwt_keys]`, as lines and as files of key sets.
import { createLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { type Problem, renderProblem } from '../config/problems.ts'
import { readBounded } from '../config/read-bounded.ts'
import { type OpenEntry, renderSource, type Settings } from '../config/settings.ts'
import { type JwtKeyEntry, type JwtKeys, readJwtKeys } from '../keys/jwt-keys.ts'
import { readJwkSet } from '../keys/material/jwk.ts'
import type { State } from './state.ts'

const MAX_SET_BYTES = 4 * 1024 * 1024

/** Texts of the files that hold key sets, by their path. */
type KeySets = ReadonlyMap<string, string>

/**
 * The keys of `[jwt_keys]`. Files of key sets are read anew whenever the configuration is: one that cannot be read is
 * left out at the start, and keeps a reload from coming into force. A line that is no key is only warned about.
 */
export function followKeys(state: State, log: Log): Live<JwtKeys> {
  const first = loadKeySets(state.get().settings)
  for (const problem of first.problems) log.error('a set of keys cannot be read', { problem: renderProblem(problem) })
  let { sets } = first
  const read = (settings: Settings) => readJwtKeys(settings.open.jwt_keys.flatMap((entry) => toKeyEntry(entry, sets)))
  const warn = createKeyWarnings(log)
  const keys = createLive(read(state.get().settings))
  warn(keys.get(), state.get().settings)
  state.onChange(({ settings }) => {
    keys.set(read(settings))
    warn(keys.get(), settings)
  })
  state.joinReload({
    prepare: async (settings) => {
      const fresh = loadKeySets(settings)
      const take = () => {
        sets = fresh.sets
        warn.forget()
      }
      return { problems: checkKeySets(settings, fresh).map(renderProblem), take }
    },
  })
  return keys
}

/** What is wrong with the files of key sets these settings name. */
export const checkKeySetFiles = (settings: Settings): readonly Problem[] =>
  checkKeySets(settings, loadKeySets(settings))

interface LoadedKeySets {
  readonly sets: KeySets
  readonly problems: readonly Problem[]
}

function loadKeySets({ open }: Settings): LoadedKeySets {
  const sets = new Map<string, string>()
  const problems: Problem[] = []
  for (const entry of open.jwt_keys.filter(isSet)) {
    try {
      sets.set(entry.text, readBounded(entry.text, { maxBytes: MAX_SET_BYTES }).bytes.toString())
    } catch (error) {
      problems.push(toKeyProblem(entry, error instanceof Error ? error.message : String(error)))
    }
  }
  return { sets, problems }
}

/** A file that holds no set at all is as good as none: half written, perhaps. Single keys of a set may be unusable. */
function checkKeySets({ open }: Settings, { sets, problems }: LoadedKeySets): readonly Problem[] {
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

function toKeyEntry(entry: OpenEntry, sets: KeySets): readonly JwtKeyEntry[] {
  if (!isSet(entry)) return [entry]
  const text = sets.get(entry.text)
  return text === undefined ? [] : [{ key: entry.key, text }]
}

/** Names what cannot be used, but the same again only after a reload: settings change more often than keys. */
function createKeyWarnings(log: Log) {
  let last = ''
  const warn = ({ problems }: JwtKeys, { open }: Settings) => {
    const said = JSON.stringify(problems)
    if (said === last) return
    last = said
    for (const { name, reason } of problems) {
      const source = open.jwt_keys.find(({ key }) => key === name)?.source
      log.warn('a key for tokens cannot be used', { name, ...(source && { place: renderSource(source) }), reason })
    }
  }
  const forget = () => {
    last = ''
  }
  return Object.assign(warn, { forget })
}
