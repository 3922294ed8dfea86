import { type Ini, readIni } from './ini.ts'

/** An existing line of a file: its number, and the key that stands there. */
export interface IniPlace {
  readonly line: number
  readonly key: string
}

/**
 * Changes one value of one existing line; every other byte stays as it was. Throws `RangeError` where there is no such
 * line, or where the new value would not read back.
 */
export function setIniValue(text: string, { line, key }: IniPlace, value: string): string {
  const before = readIni(text)
  const index = before.entries.findIndex((entry) => entry.line === line && entry.key === key)
  const entry = before.entries[index]
  if (!entry) throw new RangeError(`line ${line} does not set this key`)
  const after = text.slice(0, entry.start) + value + text.slice(entry.end)
  const wanted = before.entries.map((other, at) => (at === index ? { ...other, text: value } : other))
  if (meaningOf(readIni(after)) !== meaningOf({ ...before, entries: wanted })) {
    throw new RangeError('this value cannot be written on one line of the file')
  }
  return after
}

/** Everything a text says, apart from where in it the values stand. */
function meaningOf({ entries, sections, remarks }: Ini): string {
  const pairs = entries.map(({ section, key, text, line, sectionLine }) => [section, key, text, line, sectionLine])
  return JSON.stringify([pairs, sections, remarks])
}
