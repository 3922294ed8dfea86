// quirk: the syntax of CouchDB's files: no continuation lines, quotes, escapes or interpolation. Unlike CouchDB, a line
// that cannot be parsed is reported, because its option would silently keep the default.

export interface IniFile {
  readonly path: string
  readonly text: string
  /** Permission bits, where they are known. */
  readonly mode?: number
  /** The current contents: passwords of administrators may have been hashed since. */
  reread?(): string
}

export interface IniEntry {
  readonly section: string
  readonly key: string
  readonly text: string
  readonly line: number
  /** Line of the `[section]` above. It distinguishes two sections of the same name. */
  readonly sectionLine: number
  /** Position of `text` in the file. */
  readonly start: number
  readonly end: number
}

export interface IniSection {
  readonly name: string
  readonly line: number
}

export interface Ini {
  readonly entries: readonly IniEntry[]
  readonly sections: readonly IniSection[]
  /** Lines without a value (`option =`). They set nothing. */
  readonly empty: readonly { readonly section: string; readonly key: string; readonly line: number }[]
  /** Lines that cannot be parsed. */
  readonly unparsable: readonly { readonly line: number; readonly message: string }[]
}

const LINE_END = /\r\n|[\n\r\x1a]/g
const COMMENT = /^[ \t\v\f]*;|[ \t];/
const BLANKS = ' \t\v\f'
const BYTE_ORDER_MARK = '\uFEFF'

export function readIni(text: string): Ini {
  const entries: IniEntry[] = []
  const sections: IniSection[] = []
  const empty: { section: string; key: string; line: number }[] = []
  const unparsable: { line: number; message: string }[] = []
  let line = 0
  for (const [from, to] of linesOf(text)) {
    line += 1
    const [start, end] = contentOf(text, from, to)
    const parsed = readLine(text.slice(start, end))
    const section = sections.at(-1)
    if (parsed.kind === 'section') sections.push({ name: parsed.name, line })
    else if (parsed.kind === 'mistake') unparsable.push({ line, message: parsed.message })
    else if (parsed.kind === 'empty' && section) empty.push({ section: section.name, key: parsed.key, line })
    else if (parsed.kind === 'pair' && !section)
      unparsable.push({ line, message: 'this line is not inside a [section]' })
    else if (parsed.kind === 'pair' && section) {
      const { key, value, offset } = parsed
      const valueStart = start + offset
      const place = { line, sectionLine: section.line, start: valueStart, end: valueStart + value.length }
      entries.push({ section: section.name, key, text: value, ...place })
    }
  }
  return { entries, sections, empty, unparsable }
}

function* linesOf(text: string): Generator<readonly [from: number, to: number]> {
  let from = text.startsWith(BYTE_ORDER_MARK) ? 1 : 0
  for (const { index, 0: end } of text.matchAll(LINE_END)) {
    yield [from, index]
    from = index + end.length
  }
  yield [from, text.length]
}

/** A line without comment and surrounding blanks. */
function contentOf(text: string, from: number, to: number): readonly [start: number, end: number] {
  const comment = COMMENT.exec(text.slice(from, to))
  return trimmed(text, from, comment ? from + comment.index : to)
}

function trimmed(text: string, from: number, to: number): readonly [start: number, end: number] {
  let [start, end] = [from, to]
  while (start < end && BLANKS.includes(text[start] ?? '')) start += 1
  while (end > start && BLANKS.includes(text[end - 1] ?? '')) end -= 1
  return [start, end]
}

type ParsedLine =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'mistake'; readonly message: string }
  | { readonly kind: 'section'; readonly name: string }
  | { readonly kind: 'empty'; readonly key: string }
  | { readonly kind: 'pair'; readonly key: string; readonly value: string; readonly offset: number }

function readLine(content: string): ParsedLine {
  if (content === '') return { kind: 'nothing' }
  return content.startsWith('[') ? readSection(content) : readPair(content)
}

function readSection(content: string): ParsedLine {
  const close = content.indexOf(']')
  const isWhole = close > 1 && close === content.length - 1
  if (isWhole) return { kind: 'section', name: content.slice(1, close) }
  return { kind: 'mistake', message: 'expected [section] and nothing after it' }
}

function readPair(content: string): ParsedLine {
  const spaced = content.indexOf(' = ')
  const separator = spaced >= 0 ? spaced : content.indexOf('=')
  if (separator < 0) return { kind: 'mistake', message: 'expected "option = value"; a comment begins with ;' }
  const [keyStart, keyEnd] = trimmed(content, 0, separator)
  const [start, end] = trimmed(content, separator + (spaced >= 0 ? 3 : 1), content.length)
  if (keyStart === keyEnd) return { kind: 'mistake', message: 'expected the name of an option before =' }
  // `key =` changes nothing: the value of an earlier file stays.
  if (start === end) return { kind: 'empty', key: content.slice(keyStart, keyEnd) }
  return { kind: 'pair', key: content.slice(keyStart, keyEnd), value: content.slice(start, end), offset: start }
}
