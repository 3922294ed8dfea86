import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setIniValue } from '../../src/config/admin-file.ts'
import { readIni } from '../../src/config/ini.ts'

const pairs = (text: string) =>
  readIni(text).entries.map(({ section, key, text: value, line }) => [section, key, value, line])

const READ: Readonly<Record<string, readonly [text: string, entries: unknown]>> = {
  'spaces around = are not needed': ['[a]\nk=v\n', [['a', 'k', 'v', 2]]],
  'the first " = " separates': ['[a]\na= = b', [['a', 'a=', 'b', 2]]],
  'the first = separates if there is no " = "': ['[a]\nk=v=w', [['a', 'k', 'v=w', 2]]],
  'a value keeps later " = "': ['[a]\nk = v = w', [['a', 'k', 'v = w', 2]]],
  'both sides are trimmed': ['[a]\n\t k \t=\t v w \t', [['a', 'k', 'v w', 2]]],
  'lines end at CRLF, LF, CR and 0x1A': [
    '[a]\r\nk=1\rl=2\x1am=3\nn=4',
    [
      ['a', 'k', '1', 2],
      ['a', 'l', '2', 3],
      ['a', 'm', '3', 4],
      ['a', 'n', '4', 5],
    ],
  ],
  'a line that begins with ; is a comment': ['[a]\n ;k = v\n;\n', []],
  'a comment begins after a blank and ;': [
    '[a] ; section\nk = v ;comment\nl = v\t; comment',
    [
      ['a', 'k', 'v', 2],
      ['a', 'l', 'v', 3],
    ],
  ],
  '; without a blank before it belongs to the value': ['[a]\nk = a;b', [['a', 'k', 'a;b', 2]]],
  '# does not begin a comment': ['[a]\nk = v # x', [['a', 'k', 'v # x', 2]]],
  'an empty value sets nothing': ['[a]\nk = \nk =\nk=;x\nk = ;x', [['a', 'k', ';x', 4]]],
  'inner blanks of a section are kept': ['[ a b ]\nk=v', [[' a b ', 'k', 'v', 2]]],
  'a section can be opened again': [
    '[a]\nk=1\n[b]\nk=2\n[a]\nk=3',
    [
      ['a', 'k', '1', 2],
      ['b', 'k', '2', 4],
      ['a', 'k', '3', 6],
    ],
  ],
  'an invalid section line keeps the section above': ['[a]\n[]\n[b\n[b]x\nk=v', [['a', 'k', 'v', 5]]],
  'a byte order mark is skipped': ['\uFEFF[a]\nk=v', [['a', 'k', 'v', 2]]],
  'names keep their case and may contain special characters': [
    '[a]\n__proto__ = 1\nK:x.y = 2',
    [
      ['a', '__proto__', '1', 2],
      ['a', 'K:x.y', '2', 3],
    ],
  ],
  'quotes and backslashes are text': ['[a]\nk = "v\\n"', [['a', 'k', '"v\\n"', 2]]],
  'nothing at all': ['', []],
}

for (const [name, [text, entries]] of Object.entries(READ)) {
  test(name, () => assert.deepEqual(pairs(text), entries))
}

test('reports lines that cannot be parsed', () => {
  const { unparsable } = readIni('k = v\n[a\nno equals\n= v\n[a]\nk =\n; fine\n')
  assert.deepEqual(
    unparsable.map(({ line, message }) => [line, message.split(' ').slice(0, 4).join(' ')]),
    [
      [1, 'this line is not'],
      [2, 'expected [section] and nothing'],
      [3, 'expected "option = value";'],
      [4, 'expected the name of'],
    ],
  )
})

test('lists each occurrence of a section, and the section line of each entry', () => {
  const { sections, entries } = readIni('[a]\nk=1\n[a]\nk=2')
  assert.deepEqual(sections, [
    { name: 'a', line: 1 },
    { name: 'a', line: 3 },
  ])
  assert.deepEqual(
    entries.map((entry) => entry.sectionLine),
    [1, 3],
  )
})

const EDITED: Readonly<Record<string, readonly [before: string, line: number, value: string, after: string]>> = {
  'comments and blanks stay': [
    '; top\r\n[a]\r\n\tk =  old \t; why\r\n',
    3,
    'new',
    '; top\r\n[a]\r\n\tk =  new \t; why\r\n',
  ],
  'a byte order mark and a missing last line end stay': ['\uFEFF[a]\nk=old', 2, 'new', '\uFEFF[a]\nk=new'],
  'only the line named changes': ['[a]\nk = x\n[a]\nk = x\n', 4, 'y', '[a]\nk = x\n[a]\nk = y\n'],
  'a value may hold = and ;': ['[a]\nk = x\n', 2, 'a=b;c', '[a]\nk = a=b;c\n'],
}

for (const [name, [before, line, value, after]] of Object.entries(EDITED)) {
  test(`edit: ${name}`, () => assert.equal(setIniValue(before, { line, key: 'k' }, value), after))
}

const REFUSED: Readonly<Record<string, readonly [text: string, value: string]>> = {
  'a line end': ['[a]\nk = x', 'y\nz = 1'],
  'another line end': ['[a]\nk = x', 'y\x1az'],
  'the beginning of a comment': ['[a]\nk = x', 'y ;z'],
  'blanks at the ends': ['[a]\nk = x', ' y'],
  nothing: ['[a]\nk = x', ''],
  'a separator that would move the key': ['[a]\nk=x', 'y = z'],
  'a ; where a comment would begin': ['[a]\nk = x', ';y'],
}

for (const [name, [text, value]] of Object.entries(REFUSED)) {
  test(`edit rejects ${name}`, () => assert.throws(() => setIniValue(text, { line: 2, key: 'k' }, value), RangeError))
}

test('edit rejects a line that does not set the key', () => {
  for (const place of [
    { line: 1, key: 'k' },
    { line: 2, key: 'x' },
    { line: 9, key: 'k' },
  ]) {
    assert.throws(() => setIniValue('[a]\nk = v', place, 'w'), RangeError)
  }
})
