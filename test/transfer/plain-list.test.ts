import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ListReader } from '../../src/transfer/list-reader.ts'
import { readPlainList, renderListProblem } from '../../src/transfer/plain-list.ts'

const KNOWN = 'name, active, expires, mustChangePassword, roles, grants, password'

const NOT_UTC = [
  '12/11/2030',
  '5',
  '2030',
  '2030-02-31',
  '2030-12-31T18:00:00',
  'Dec 31 2030',
  '2030-12-31T18:00+02:00',
]

const ROWS: readonly { title: string; text: string; problems: readonly string[]; names?: readonly string[] }[] = [
  {
    title: 'a list with commas, a byte order mark and an empty line',
    text: '\uFEFFname,roles\r\nada,"editor, shop manager"\r\n\r\nbob,\r\n',
    problems: [],
    names: ['ada', 'bob'],
  },
  {
    title: 'an unknown column is a problem of line 1, once, with the column that is meant',
    text: 'name;passwrd;Rols\n\nada;x;y\nbob;x;y\n',
    problems: [
      'Line 1: the column passwrd is unknown. Did you mean password?',
      'Line 1: the column Rols is unknown. Did you mean roles?',
    ],
    names: ['ada', 'bob'],
  },
  {
    title: 'a column that resembles none is named with those that exist',
    text: 'name,shoe size\nada,38\n',
    problems: [`Line 1: the column shoe size is unknown. A user has ${KNOWN}.`],
    names: ['ada'],
  },
  {
    title: 'a column with the name of a method that every object has is unknown',
    text: 'name,constructor\nada,38\n',
    problems: [`Line 1: the column constructor is unknown. A user has ${KNOWN}.`],
    names: ['ada'],
  },
  {
    title: 'members, levels and flags with the name of such a method are problems of their line',
    text: '{"name":"ada","toString":1}\n{"name":"bob","grants":[{"database":"shop","level":"constructor"}],"active":"valueOf"}\n',
    problems: [
      `Line 1: toString is unknown. A user has ${KNOWN}.`,
      'Line 2: grants must be databases with a level, as shop:rw; levels are rw, ro, none.',
      'Line 2: active must be true or false.',
    ],
    names: [],
  },
  {
    title: 'a list without names says what is missing, and what may be meant',
    text: 'username,password\nada,x\n',
    problems: ['Line 1: the column username is unknown. Did you mean name?', 'Line 1: the column name is missing.'],
    names: [],
  },
  {
    title: 'all problems of all lines are found, in order',
    text: 'name,active,expires,grants\nada,yes,,\n,true,,\nbob,,soon,shop:read\nada,,,\n',
    problems: [
      'Line 2: active must be true or false. Did you mean true?',
      'Line 3: name must be a text that is not empty.',
      'Line 4: expires must be a day or a time in UTC, as 2030-12-31.',
      'Line 4: grants must be databases with a level, as shop:rw; levels are rw, ro, none. Did you mean shop:ro?',
      'Line 5: the name ada is in line 2 too. Remove one of them.',
    ],
    names: [],
  },
  {
    title: 'the line of a record after a cell with several lines is right',
    text: 'name,password,active\nada,"two\nlines",\nbob,,maybe\n',
    problems: ['Line 4: active must be true or false.'],
    names: ['ada'],
  },
  {
    title: 'a row with more cells than columns is not cut',
    text: 'name,roles\nada,editor,reader\nbob,editor,\n',
    problems: [
      'Line 2: there are 3 cells, and line 1 has 2. A cell that contains the separator is put in double quotes.',
    ],
    names: ['bob'],
  },
  {
    title: 'only a day or a time in UTC is a time: others mean different ones to different readers',
    text: `name,expires\n${NOT_UTC.map((text, at) => `user-${at},"${text}"`).join('\n')}\nada,2030-12-31T18:00:00Z\n`,
    problems: NOT_UTC.map((_, at) => `Line ${at + 2}: expires must be a day or a time in UTC, as 2030-12-31.`),
    names: ['ada'],
  },
  {
    title: 'a quote that is not closed is not guessed',
    text: 'name,roles\n"ada,editor\nbob,editor\n',
    problems: ['Line 2: a double quote is not closed, or text follows it.'],
    names: ['bob'],
  },
  {
    title: 'JSON lines, with each problem in its line',
    text: '{"name":"ada","roles":"editor"}\n[1]\n{"name":"bob","grant":[]}\n{"name":"eve"}\n',
    problems: [
      'Line 1: roles must be a list of roles, as ["editor"].',
      'Line 2: this is not a JSON object.',
      'Line 3: grant is unknown. Did you mean grants?',
    ],
    names: ['eve'],
  },
  {
    title: 'another file is not a list',
    text: '[{"name":"ada"}]',
    problems: [
      `This is not a list of users. CSV needs a first line with the column name; JSON lines need the member name.`,
    ],
    names: [],
  },
]

describe('a list of users', () => {
  for (const { title, text, problems, names = [] } of ROWS)
    it(title, () => {
      const list = readPlainList(text)
      assert.deepEqual(list.problems.map(renderListProblem), problems)
      assert.deepEqual(
        list.users.map(({ user }) => user.name),
        names,
      )
    })

  it('never shows a password', () => {
    const { problems } = readPlainList('name,password,roles\nada,s3cret\n,s3cret\nada,s3cret,x,s3cret\n')
    assert.equal(problems.length, 2)
    assert.doesNotMatch(JSON.stringify(problems), /s3cret/)
  })
})

const read = (...chunks: readonly string[]) => {
  const reader = new ListReader()
  for (const chunk of chunks) assert.deepEqual(reader.push(Buffer.from(chunk)), [])
  return reader.end().map(({ line, reading }) => ({ line, ...reading }))
}

describe('a list for the command line', () => {
  it('has a draft for each user, whose password must be changed, and a refusal for each other line', () => {
    const found = read('name,password,roles,grants,expires\nada,pw,"a;b",sh', 'op:rw,2030-12-31\nbob,,,shop,\n')
    assert.deepEqual(found, [
      {
        line: 2,
        kind: 'user',
        id: 'ada',
        notes: [],
        draft: {
          name: 'ada',
          password: { password: 'pw' },
          mustChangePassword: true,
          roles: ['a', 'b'],
          multiModel: { grants: new Map([['shop', { level: 'rw', collections: new Map() }]]) },
          expiresAt: 1924905600,
        },
      },
      {
        line: 3,
        kind: 'refused',
        id: 'bob',
        reason: 'grants must be databases with a level, as shop:rw; levels are rw, ro, none.',
      },
    ])
  })

  it('has a password in quotes as it is written, with its blanks', () => {
    const [found] = read('name,password,roles\n" ada "," p w "," editor "\n')
    assert.ok(found?.kind === 'user')
    const { name, password, roles } = found.draft
    assert.deepEqual({ name, password, roles }, { name: 'ada', password: { password: ' p w ' }, roles: ['editor'] })
    const [without] = read('name,password\nada,"  "\n')
    assert.ok(without?.kind === 'user' && without.draft.password === undefined)
  })

  it('imports nothing of a list with a wrong first line', () => {
    assert.deepEqual(read('name,rolls\nada,x\n'), [
      { line: 1, kind: 'refused', reason: 'the column rolls is unknown. Did you mean roles?' },
    ])
  })

  it('refuses the user of a cell with many megabytes, and reads the others', () => {
    const found = read('name,roles\nada,"', 'x'.repeat(20_000_000), '"\nbob,editor\n')
    assert.deepEqual(
      found.map(({ kind }) => kind),
      ['refused', 'user'],
    )
  })

  it('refuses what is not UTF-8', () => {
    const reader = new ListReader()
    reader.push(Buffer.from([0x6e, 0xff]))
    const [found] = reader.end()
    assert.equal(found?.reading.kind === 'refused' && found.reading.reason, 'The list is not UTF-8.')
  })
})
