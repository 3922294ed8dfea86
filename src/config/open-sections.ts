import { attempt } from '../base/errors.ts'
import { findNearest } from '../base/nearest.ts'
import { serverUrls } from './addresses.ts'
import { path as pathCodec } from './codecs.ts'
import type { OpenEntry } from './options.ts'
import { addProblem, type Notices, type Problem, renderProblem, warn } from './problems.ts'
import { expandSecret, folderOf, isFileReference, type SecretFiles, STORED_FORM } from './secrets.ts'
import { type AdminEntry, type Assignment, joinNames, renderSource } from './settings.ts'

/** Kinds of key in `[jwt_keys]`: the part of a name before its first colon. */
const KEY_KINDS = ['hmac', 'rsa', 'ec', 'eddsa', 'jwks'] as const

/** The last entry of each name in one of these sections. */
export function resolveOpen(
  section: 'jwt_keys' | 'jwt_key_limits' | 'services',
  given: readonly Assignment[],
  secretFiles: SecretFiles,
  report: Notices,
): readonly OpenEntry[] {
  const last = new Map<string, OpenEntry>()
  for (const assignment of given) {
    const { key, source } = assignment
    const problem = section === 'services' ? undefined : checkKeyName(assignment)
    // A problem would prevent the start, and run-time settings can be changed only while the server runs.
    if (problem && source.kind === 'run time') report.warnings.push(`ignored: ${renderProblem(problem)}`)
    else if (problem) report.problems.push(problem)
    else if (key.startsWith('jwks:')) last.set(key, { key, text: resolvePath(assignment, secretFiles), source })
    else {
      const text = expandSecret(assignment, secretFiles, report)
      if (text !== undefined) last.set(key, { key, text, source })
    }
  }
  return [...last.values()]
}

/** A key set is named by its file, which is read whenever keys are loaded. */
function resolvePath({ text, source }: Assignment, { cwd }: SecretFiles): string {
  const path = text.replace(/^@file:/, '')
  return pathCodec.resolve?.(path, folderOf(source, cwd)) ?? path
}

/** Checks that a name in `[jwt_keys]` or `[jwt_key_limits]` begins with a kind of key. A set has no limits of its own. */
export function checkKeyName({ section, key, source }: Assignment): Problem | undefined {
  const kinds = section === 'jwt_keys' ? KEY_KINDS : KEY_KINDS.filter((kind) => kind !== 'jwks')
  const [kind = '', ...rest] = key.split(':')
  if (kinds.some((known) => known === kind) && rest.join(':') !== '') return undefined
  const near = rest.length > 0 ? findNearest(kind, kinds, 2) : undefined
  return {
    kind: 'unknown-option',
    place: renderSource(source),
    message: `[${section}] ${key}: the name of a key is its kind (${kinds.join(', ')}), a colon and its id`,
    ...(near && { nearest: [near, ...rest].join(':') }),
  }
}

/** Administrators of all layers, in order; within a layer, the last line of each name. */
export function resolveAdmins(
  given: readonly Assignment[],
  secretFiles: SecretFiles,
  report: Notices,
): readonly AdminEntry[] {
  const last = new Map<string, AdminEntry>()
  warnAboutDuplicates(given, report)
  for (const assignment of given) {
    const text = expandSecret(assignment, secretFiles, report)
    const { key: name, source } = assignment
    if (text === '') addProblem(report, 'bad-value', assignment, 'a password must not be empty')
    else if (text !== undefined) last.set(joinNames(source.kind, name), { name, text, source })
  }
  return [...last.values()]
}

/** The last line of a name in the files is used. */
export function warnAboutDuplicates(given: readonly Assignment[], report: Notices): void {
  for (const { line, last } of findDuplicates(given)) {
    warn(report, line, `this line is ignored: the one at ${renderSource(last.source)} is used`)
  }
}

/** Lines of files that a later line of the same name overrules. */
function findDuplicates(
  given: readonly Assignment[],
): readonly { readonly line: Assignment; readonly last: Assignment }[] {
  const inFiles = given.filter(({ source }) => source.kind === 'file')
  const byName = Map.groupBy(inFiles, ({ section, key }) => joinNames(section, key))
  return [...byName.values()].flatMap((lines) =>
    lines.slice(0, -1).map((line) => ({ line, last: lines.at(-1) ?? line })),
  )
}

/** Plain-text passwords in overruled `[admins]` lines. They give no rights, but are hashed like the others. */
export const findOverruledPasswords = (
  given: readonly Assignment[],
  overruled: readonly Assignment[],
): readonly AdminEntry[] =>
  [...overruled, ...findDuplicates(given).map(({ line }) => line)]
    .filter(({ text }) => text !== '' && !isFileReference(text) && !STORED_FORM.test(text))
    .map(({ key: name, text, source }) => ({ name, text, source }))

/** An application behind a door. */
export interface Service {
  readonly name: string
  /** The path it is mounted at, segment by segment. */
  readonly mount: readonly string[]
  readonly url: string
  /** Where it is mounted. */
  readonly doors: readonly ServiceDoor[]
  /** `user`: every user. `required`: users with a grant on `_system`. Left out: as the options of the door say. */
  readonly clients: 'user' | 'required' | undefined
  /** Whether it answers CORS preflights itself. */
  readonly hasPreflights: boolean
}

/** Audience of the tokens of `/_gate`. A service of this name would accept them as its own. */
export const GATE_AUDIENCE = 'gate'

const DOORS = ['document', 'multi-model'] as const

export type ServiceDoor = (typeof DOORS)[number]

const WORDS: readonly string[] = ['user', 'required', 'preflight', ...DOORS]
const FORM = /^(\/\S+)\s+(\S+)((?:\s+\S+)*)$/
const SEGMENT = /^[A-Za-z0-9.~-][A-Za-z0-9._~-]*$/
/** Answered by Cardea itself at both doors. */
const KEY_SET = /^\/\.well-known\/jwks\.json(?:\/|$)/
const EXPECTED =
  'expected /mount http://host:port, then any of document, multi-model (its doors), user or required, preflight; no part of the mount begins with _'

/** The valid services, longest mount first, so that the most specific one is found first. */
export const readServices = (entries: readonly OpenEntry[]): readonly Service[] =>
  entries
    .map(readService)
    .filter((service) => typeof service !== 'string')
    .toSorted((a, b) => b.mount.length - a.mount.length)

/** All problems of these entries. */
export function checkServices(entries: readonly OpenEntry[]): readonly Problem[] {
  const mounted = new Map<string, string>()
  return entries.flatMap((entry) => {
    const service = readService(entry)
    if (typeof service === 'string') return [toProblem(entry, service)]
    const path = `/${service.mount.join('/')}`
    const other = mounted.get(path)
    if (other !== undefined) return [toProblem(entry, `${other} is mounted at ${path} already`)]
    mounted.set(path, entry.key)
    return []
  })
}

const toProblem = ({ key, source }: OpenEntry, why: string): Problem => ({
  kind: 'bad-value',
  place: renderSource(source),
  message: `[services] ${key}: ${why}`,
})

/** The service, or what is wrong with the entry. */
function readService({ key: name, text }: OpenEntry): Service | string {
  if (name === GATE_AUDIENCE) return 'this name is reserved for the tokens of /_gate'
  const [, path = '', address = '', rest = ''] = FORM.exec(text.trim()) ?? []
  const words = rest.split(/\s+/).slice(1)
  const clients = (['user', 'required'] as const).filter((word) => words.includes(word))
  const mount = path.split('/').slice(1)
  const isPlain = mount.every((segment) => SEGMENT.test(segment) && !/^\.+$/.test(segment))
  const url = findUrl(address)
  const areWordsKnown = words.every((word) => WORDS.includes(word)) && clients.length < 2
  if (path === '' || !isPlain || url === undefined || !areWordsKnown) return EXPECTED
  if (KEY_SET.test(path)) return `${path} belongs to Cardea: choose another mount`
  const doors = DOORS.filter((door) => words.includes(door))
  return {
    name,
    mount,
    url,
    doors: doors.length === 0 ? ['multi-model'] : doors,
    clients: clients[0],
    hasPreflights: words.includes('preflight'),
  }
}

function findUrl(text: string): string | undefined {
  const urls = attempt(() => serverUrls.parse(text))
  return urls?.length === 1 ? urls[0] : undefined
}
