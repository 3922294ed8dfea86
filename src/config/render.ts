// The help of options, from their table.
import { OPEN_SECTIONS, type OpenSection, SECTIONS, type Section } from './option-table.ts'
import { findOpenSection, isSection, type OptionRow, ROWS } from './options.ts'
import { PROVIDER_ROWS } from './providers.ts'

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

export const SECTION_NAMES = [...new Set(ROWS.map((row) => row.section))]
export const rowsOf = (section: Section): readonly OptionRow[] => ROWS.filter((row) => row.section === section)
/** A row of the table of options, or of that of providers. */
export type ShownRow = Pick<OptionRow, 'key' | 'option'>

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
export function renderHelp(section?: string): string | undefined {
  if (section === undefined) return [...SECTION_NAMES, ...OPEN_SECTIONS].map(renderSectionHelp).join('\n')
  const known = isSection(section) ? section : findOpenSection(section)
  return known && renderSectionHelp(known)
}

function renderSectionHelp(section: Section | OpenSection): string {
  const head = [`[${section}]`, ...wrap(SECTIONS[section], '  '), '']
  if (!isSection(section) && section !== 'provider') return [...head, ...renderOpenHelp(section), ''].join('\n')
  const rows = (isSection(section) ? rowsOf(section) : PROVIDER_ROWS).flatMap((row) => [
    `  --${row.name} <${row.option.codec.expects}>`,
    ...wrap([describe(row), ...listMarks(row), `Default: ${defaultOf(row) || 'empty'}.`].join(' '), '      '),
    '',
  ])
  return [...head, ...rows].join('\n')
}

const OPEN_HELP: Readonly<Record<Exclude<OpenSection, 'provider'>, readonly [flag: string, help: string]>> = {
  admins: [
    'NAME <password>',
    'Secret: @file:path names a file that contains it. Over HTTP: /_node/_local/_config/admins/NAME.',
  ],
  jwt_keys: [
    'KIND:ID <key>',
    'hmac: the secret in base64; rsa, ec, eddsa: the public key in PEM; jwks: a file with a key set. @file:path names a file that contains a key. A key set cannot be named at run time.',
  ],
  services: ['NAME </mount http://host:port [required]>', 'Needs a restart. Cannot be changed at run time.'],
}

function renderOpenHelp(section: keyof typeof OPEN_HELP): readonly string[] {
  const [flag, help] = OPEN_HELP[section]
  return [`  --${section}.${flag}`, ...wrap(help, '      ')]
}
