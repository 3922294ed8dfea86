import { path as pathCodec } from './codecs.ts'
import { findNearest, type Problem, renderProblem } from './problems.ts'
import { complain, type Report, warn } from './report.ts'
import { expandSecret, folderOf, isFileReference, STORED_FORM, type Surroundings } from './secrets.ts'
import { type AdminEntry, type Assignment, joinNames, type OpenEntry, renderSource } from './settings.ts'

/** Kinds of key in `[jwt_keys]`: the part of a name before its first colon. */
const KEY_KINDS = ['hmac', 'rsa', 'ec', 'eddsa', 'jwks'] as const

/** The last entry of each name in `[jwt_keys]` or `[services]`. */
export function resolveOpen(
  section: 'jwt_keys' | 'services',
  given: readonly Assignment[],
  around: Surroundings,
  report: Report,
): readonly OpenEntry[] {
  const last = new Map<string, OpenEntry>()
  for (const assignment of given) {
    const { key, source } = assignment
    const problem = section === 'jwt_keys' ? checkKeyName(assignment) : undefined
    // Nobody can mend the run-time layer of a server that does not start.
    if (problem && source.kind === 'run time') report.warnings.push(`ignored: ${renderProblem(problem)}`)
    else if (problem) report.problems.push(problem)
    else if (key.startsWith('jwks:')) last.set(key, { key, text: resolvePath(assignment, around), source })
    else {
      const text = expandSecret(assignment, around, report)
      if (text !== undefined) last.set(key, { key, text, source })
    }
  }
  return [...last.values()]
}

/** A key set is named by its file, which stays a file: it is read anew when the keys are. */
function resolvePath({ text, source }: Assignment, { cwd }: Surroundings): string {
  const path = text.replace(/^@file:/, '')
  return pathCodec.resolve?.(path, folderOf(source, cwd)) ?? path
}

/** Whether a name in `[jwt_keys]` says what kind of key it is. */
export function checkKeyName(assignment: Assignment): Problem | undefined {
  const { key, source } = assignment
  const [kind = '', ...rest] = key.split(':')
  if (KEY_KINDS.some((known) => known === kind) && rest.join(':') !== '') return undefined
  const near = rest.length > 0 ? findNearest(kind, KEY_KINDS, 2) : undefined
  return {
    kind: 'unknown-option',
    place: renderSource(source),
    message: `[jwt_keys] ${key}: the name of a key is its kind (${KEY_KINDS.join(', ')}), a colon and its id`,
    ...(near && { nearest: [near, ...rest].join(':') }),
  }
}

/** Administrators of all layers, in order; within one layer the last of a name counts. */
export function resolveAdmins(
  given: readonly Assignment[],
  around: Surroundings,
  report: Report,
): readonly AdminEntry[] {
  const last = new Map<string, AdminEntry>()
  warnAboutTwice(given, report)
  for (const assignment of given) {
    const text = expandSecret(assignment, around, report)
    const { key: name, source } = assignment
    if (text === '') complain(report, 'bad-value', assignment, 'a password must not be empty')
    else if (text !== undefined) last.set(joinNames(source.kind, name), { name, text, source })
  }
  return [...last.values()]
}

function warnAboutTwice(given: readonly Assignment[], report: Report): void {
  for (const { line, last } of findTwice(given)) {
    warn(report, line, `this does not count: the line at ${renderSource(last.source)} does`)
  }
}

/** Lines of files that a later line of the same name overrules. */
function findTwice(given: readonly Assignment[]): readonly { readonly line: Assignment; readonly last: Assignment }[] {
  const inFiles = given.filter(({ source }) => source.kind === 'file')
  return [...Map.groupBy(inFiles, ({ key }) => key).values()].flatMap((lines) =>
    lines.slice(0, -1).map((line) => ({ line, last: lines.at(-1) ?? line })),
  )
}

/** Plain-text passwords in overruled `[admins]` lines. They give no rights, but are hashed like the others. */
export function findOverruledPasswords(
  given: readonly Assignment[],
  overruled: readonly Assignment[],
): readonly AdminEntry[] {
  return [...overruled, ...findTwice(given).map(({ line }) => line)]
    .filter(({ text }) => text !== '' && !isFileReference(text) && !STORED_FORM.test(text))
    .map(({ key: name, text, source }) => ({ name, text, source }))
}
