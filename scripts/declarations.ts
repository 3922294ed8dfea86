// Reads the declarations that tsc emits: their layout is fixed, so lines and their indentation are enough.
import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

export interface Member {
  readonly name: string
  /** Without line breaks: `find(name: string): Promise<User>`. */
  readonly text: string
  readonly comment: string
  readonly isCall: boolean
  /** Members of a member whose type is written out. */
  readonly members: readonly Member[]
}

export interface Declaration {
  readonly name: string
  readonly kind: string
  /** The names after `extends`. */
  readonly parents: readonly string[]
  readonly text: string
  readonly comment: string
  readonly members: readonly Member[]
}

export interface Entry {
  /** What the module exports, in its order. */
  readonly exported: readonly string[]
  readonly declarations: ReadonlyMap<string, Declaration>
}

const ROOT = dirname(import.meta.dirname)

const emitted = new Map<string, ReadonlyMap<string, string>>()

/** By the path of the module without its ending: the lines of its declarations. Emitted once: it takes seconds. */
export function emitDeclarations(config: string): ReadonlyMap<string, string> {
  const declarations = emitted.get(config) ?? emit(config)
  emitted.set(config, declarations)
  return declarations
}

function emit(config: string): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-declarations-'))
  try {
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    const args = ['-p', config, '--noEmit', 'false', '--emitDeclarationOnly', '--noCheck', '--outDir', folder]
    execFileSync(tsc, args, { cwd: ROOT, stdio: 'pipe' })
    const files = globSync('**/*.d.ts', { cwd: folder }).sort()
    return new Map(files.map((file) => [file.replace(/\.d\.ts$/, ''), readFileSync(join(folder, file), 'utf8')]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const TYPES = /^export type \{([^}]*)\}/gm

/** The names that a file exports of others. `export type *` exports what the other file exports as types. */
function listReexported(
  modules: ReadonlyMap<string, string>,
  text: string,
  pattern = /^export (?:type )?\{([^}]*)\}/gm,
): string[] {
  const lists = [...text.matchAll(pattern)].flatMap(([, list = '']) => list.split(','))
  const names = lists.map((item) => item.replace(/^\s*type /, '').trim()).filter(Boolean)
  const whole = [...text.matchAll(/^export type \* from '\.\/([\w/-]+)\.[jt]s'/gm)]
  return [...names, ...whole.flatMap(([, file = '']) => listReexported(modules, modules.get(file) ?? '', TYPES))]
}

/** A module, and the declarations of those it names. */
export function readEntry(modules: ReadonlyMap<string, string>, name: string): Entry {
  const text = modules.get(name) ?? ''
  const others = listReexported(modules, text)
  const own = readDeclarations(text)
  const declarations = new Map<string, Declaration>()
  for (const each of [...modules.values()].flatMap(readDeclarations)) {
    const { members = [] } = declarations.get(each.name) ?? {}
    declarations.set(each.name, { ...each, members: [...members, ...each.members] })
  }
  for (const each of own) declarations.set(each.name, each)
  return { exported: [...own.map((declaration) => declaration.name), ...others], declarations }
}

interface Item {
  readonly comment: string
  readonly lines: readonly string[]
}

/** The items of this indentation, each with the comment before it. */
function splitItems(lines: readonly string[], indent: string): Item[] {
  const items: { comment: string; lines: string[] }[] = []
  let comment: string[] = []
  let isComment = false
  for (const line of lines) {
    // the end of what has the items
    if (!line.startsWith(indent)) continue
    const rest = line.slice(indent.length)
    if (rest.startsWith('/**')) [comment, isComment] = [[], true]
    if (isComment) comment.push(rest)
    else if (/^([\s})]|$)/.test(rest)) items.at(-1)?.lines.push(rest)
    else {
      items.push({ comment: toProse(comment), lines: [rest] })
      comment = []
    }
    if (rest.endsWith('*/')) isComment = false
  }
  return items
}

const toProse = (lines: readonly string[]): string =>
  lines
    .map((line) => line.replace(/^\s*(\/\*\*|\*\/|\*)?\s?/, '').replace(/\s*\*\/$/, ''))
    .join(' ')
    .replace(/@example.*/, '')
    .trim()

const DECLARATION = /^export (?:declare )?(?<kind>interface|type|class|function|const) (?<name>\w+)/

function readDeclarations(text: string): Declaration[] {
  return splitItems(text.split('\n'), '').flatMap(({ comment, lines }) => {
    if (lines[0]?.startsWith('declare module')) return readDeclarations(toOuter(lines.slice(1)))
    const { kind = '', name = '' } = DECLARATION.exec(lines[0] ?? '')?.groups ?? {}
    if (name === '') return []
    const [, parents = ''] =
      / extends (?!object)(.*) \{$/.exec(lines[0]?.replace(/<.*?>(?= extends| \{)/, '') ?? '') ?? []
    const members = readMembers(lines.slice(1))
    return [{ name, kind, comment, members, text: toLine(lines), parents: parents.match(/\w+/g) ?? [] }]
  })
}

/** What a file adds to interfaces of another one, as if that had it. */
const toOuter = (lines: readonly string[]): string =>
  lines.map((line) => line.replace(/^ {4}/, '').replace(/^interface/, 'export interface')).join('\n')

function readMembers(lines: readonly string[]): Member[] {
  return splitItems(lines, '    ').flatMap(({ comment, lines: [first = '', ...rest] }) => {
    const name = /^(?:readonly )?(\w+)\??[:(<]/.exec(first)?.[1]
    if (name === undefined || name === 'constructor') return []
    const text = toLine([first, ...rest])
    const isCall = new RegExp(`^${name}(\\(|<|: \\(.*=>)`).test(text)
    return [{ name, text, comment, isCall, members: isCall ? [] : readMembers(rest) }]
  })
}

const toLine = (lines: readonly string[]): string =>
  lines
    .map((line) => line.trim())
    .filter((line) => !/^(\/\*|\*)/.test(line))
    .join(' ')
    .replaceAll(/import\("[^"]*"\)\./g, '')
    .replaceAll(/; \}/g, ' }')
    .replace(/;\s*$/, '')
    .replace(/^export (declare )?/, '')
