// Properties of every text. The test runs them briefly, `npm run test:long -- fuzz` for long.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { setIniValue } from '../../src/config/admin-file.ts'
import { readIni } from '../../src/config/ini.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'

const fragment = fc.constantFrom(
  ...['[', ']', '=', ' = ', ';', ' ;', '\t;', ' ', '\t', '\v', '\f', '\xa0', '\0', '\uFEFF', '\u2028'],
  ...['[a]', '[admins]', 'k', 'key', 'v', '@file:x', '-pbkdf2-', 'é', '\u{1F511}'],
)
const junk = fc
  .array(fc.oneof(fragment, fc.string({ unit: ANY_CHARACTER, maxLength: 3 })), { maxLength: 6 })
  .map((parts) => parts.join(''))
const blanks = fc.constantFrom('', ' ', '\t', '  ')
const section = fc
  .tuple(blanks, fc.constantFrom('a', 'admins', 'chttpd', ' a '), blanks)
  .map(([left, name, right]) => `${left}[${name}]${right}`)
const pair = fc
  .tuple(
    blanks,
    fc.constantFrom('k', 'key', 'a=b', 'hmac:x'),
    fc.constantFrom('=', ' = ', ' =', '= ', '\t=\t'),
    junk,
    fc.constantFrom('', ' ;c', ' ', '\t; c'),
  )
  .map((parts) => parts.join(''))
const line = fc.oneof({ weight: 2, arbitrary: section }, { weight: 4, arbitrary: pair }, { weight: 2, arbitrary: junk })
const lineEnd = fc.constantFrom('\n', '\r\n', '\r', '\x1a', '\n\n')

/** Texts of which most say something, and some are anything at all. */
export const iniText = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(
        fc.constantFrom('', '\uFEFF'),
        fc.array(fc.tuple(line, lineEnd), { minLength: 2, maxLength: 12, size: 'max' }),
        line,
      )
      .map(([mark, lines, last]) => mark + lines.flat().join('') + last),
  },
  { weight: 1, arbitrary: fc.string({ unit: ANY_CHARACTER, maxLength: 200 }) },
)
const value = fc.oneof(
  junk,
  fc.base64String({ minLength: 1 }),
  fc.constantFrom('x', 'y ;z', 'y = z', 'a\nb', '[a]', ';'),
)

const meaningOf = (text: string) =>
  readIni(text).entries.map(({ section, key, text: said, line, sectionLine }) => ({
    section,
    key,
    said,
    line,
    sectionLine,
  }))

const readingNeverFails = fc.property(iniText, (text) => {
  const { entries, sections, unparsable } = readIni(text)
  const lines = text.split(/\r\n|[\n\r\x1a]/).length
  for (const { line } of [...entries, ...sections, ...unparsable]) assert.ok(line >= 1 && line <= lines)
})

const entriesAreAtTheirPositions = fc.property(iniText, (text) => {
  for (const entry of readIni(text).entries) {
    assert.equal(text.slice(entry.start, entry.end), entry.text)
    assert.ok(entry.text !== '' && entry.key !== '' && entry.section !== '')
    assert.doesNotMatch(entry.text + entry.key, /[\n\r\x1a]/)
  }
})

/** Sets one value of a text, or gives nothing where there is none to set or the new one is refused. */
function edit(text: string, pick: number, changed: string) {
  const { entries } = readIni(text)
  const index = pick % Math.max(1, entries.length)
  const entry = entries[index]
  if (!entry) return undefined
  try {
    return { entry, index, after: setIniValue(text, entry, changed) }
  } catch (error) {
    assert.ok(error instanceof RangeError)
    return undefined
  }
}

const editChangesOneValue = fc.property(iniText, fc.nat(50), value, (text, pick, changed) => {
  const edited = edit(text, pick, changed)
  if (!edited) return
  const wanted = meaningOf(text).map((entry, at) => (at === edited.index ? { ...entry, said: changed } : entry))
  assert.deepEqual(meaningOf(edited.after), wanted)
})

const editKeepsEveryOtherByte = fc.property(iniText, fc.nat(50), value, (text, pick, changed) => {
  const edited = edit(text, pick, changed)
  if (!edited) return
  const { entry, after } = edited
  assert.equal(after.slice(0, entry.start), text.slice(0, entry.start))
  assert.equal(after.slice(entry.start + changed.length), text.slice(entry.end))
})

const storedPasswordsAlwaysFit = fc.property(
  iniText,
  fc.nat(50),
  fc.stringMatching(/^-pbkdf2-[0-9a-f]{64},[0-9a-f]{32},[1-9][0-9]{0,8}$/),
  (text, pick, stored) => {
    const { entries } = readIni(text)
    const entry = entries[pick % Math.max(1, entries.length)]
    if (entry) assert.equal(readIni(setIniValue(text, entry, stored)).entries[entries.indexOf(entry)]?.text, stored)
  },
)

/** Runs a property so often; gives the report of a failure. */
const lasting =
  <T>(property: fc.IProperty<T>) =>
  (numRuns: number): string | undefined => {
    const result = fc.check(property, { numRuns })
    return result.failed ? fc.defaultReportMessage(result) : undefined
  }

export const PROPERTIES = {
  'reading never fails, and lines exist': lasting(readingNeverFails),
  'entries are at their positions': lasting(entriesAreAtTheirPositions),
  'an edit changes one value and no other': lasting(editChangesOneValue),
  'an edit keeps every other byte': lasting(editKeepsEveryOtherByte),
  'a stored password can be written into any line': lasting(storedPasswordsAlwaysFit),
}
