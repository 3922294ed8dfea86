// The help of options, from their table.
import { OPEN_SECTION_HELP, OPEN_SECTIONS, type OpenSection } from './option-table.ts'
import { kindOf, type NamedSection, type OptionRow, type OptionTable } from './options.ts'

const WIDTH = 96

export function wrap(text: string, prefix: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && prefix.length + last.length + 1 + word.length <= WIDTH)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.map((line) => prefix + line)
}

export const rowsOf = ({ rows }: OptionTable, section: string): readonly ShownRow[] =>
  rows.filter((row) => row.section === section)

export const rowsOfNamed = (kind: string, { rows }: NamedSection): readonly ShownRow[] =>
  Object.entries(rows).map(([key, option]) => ({ key, name: `${kind}:<name>.${key}`, option }))

/** A row of the table of options, or of a named section. */
export interface ShownRow extends Pick<OptionRow, 'key' | 'option'> {
  readonly name: string
}

export const defaultOf = ({ option }: ShownRow): string => option.codec.print(option.initial)

const RELATIVE_PATHS =
  'A relative path is relative to the file that contains it; from flags and environment, to the working directory.'

export const describe = ({ option }: ShownRow): string =>
  option.more === undefined ? option.help : `${option.help} ${option.more}`

/** Further properties of a row, as short sentences. */
export const listMarks = ({ option }: ShownRow): string[] => [
  ...(option.codec.resolve ? [RELATIVE_PATHS] : []),
  ...(option.reload === 'restart' ? ['Needs a restart.'] : []),
  ...(option.secret ? ['Secret: @file:path names a file that contains it.'] : []),
  ...(option.fixed === undefined ? [] : ['Cannot be changed at run time.']),
]

/** Help of one section, or of all; `undefined` if there is no such section. */
export function renderHelp(table: OptionTable, section?: string): string | undefined {
  if (section !== undefined) return renderSectionHelp(table, section)
  return [...table.sections.keys(), ...OPEN_SECTIONS, ...table.named.keys()]
    .map((each) => renderSectionHelp(table, each))
    .join('\n')
}

function renderSectionHelp(table: OptionTable, section: string): string | undefined {
  const kind = kindOf(section)
  const open = OPEN_SECTIONS.find((each) => each === section)
  const [help, named] = [table.sections.get(section), table.named.get(kind)]
  if (help !== undefined) return renderRowsHelp(section, help, rowsOf(table, section))
  if (named) return renderRowsHelp(kind, named.help, rowsOfNamed(kind, named))
  return open && [...renderHead(open, OPEN_SECTION_HELP[open]), ...renderOpenHelp(open), ''].join('\n')
}

const renderHead = (section: string, help: string): readonly string[] => [`[${section}]`, ...wrap(help, '  '), '']

const renderRowsHelp = (section: string, help: string, rows: readonly ShownRow[]): string =>
  [
    ...renderHead(section, help),
    ...rows.flatMap((row) => [
      `  --${row.name} <${row.option.codec.expects}>`,
      ...wrap([describe(row), ...listMarks(row), `Default: ${defaultOf(row) || 'empty'}.`].join(' '), '      '),
      '',
    ]),
  ].join('\n')

const OPEN_HELP: Readonly<Record<OpenSection, readonly [flag: string, help: string]>> = {
  admins: [
    'NAME <password>',
    'Secret: @file:path names a file that contains it. Over HTTP: /_node/_local/_config/admins/NAME.',
  ],
  jwt_keys: [
    'KIND:ID <key>',
    'hmac: the secret in base64; rsa, ec, eddsa: the public key in PEM; jwks: a file with a key set. @file:path names a file that contains a key. A key set cannot be named at run time.',
  ],
  jwt_key_limits: [
    'KIND:ID <names=NAME,PREFIX* roles=ROLE,PREFIX* until=YYYY-MM-DD>',
    'Blank, comma and * in a name or role are written as %20, %2C and %2A.',
  ],
  services: ['NAME </mount http://host:port [required]>', 'Needs a restart. Cannot be changed at run time.'],
}

function renderOpenHelp(section: OpenSection): readonly string[] {
  const [flag, help] = OPEN_HELP[section]
  return [`  --${section}.${flag}`, ...wrap(help, '      ')]
}
