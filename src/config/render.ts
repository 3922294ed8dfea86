// The help of options, from their table.
import { OPEN_SECTIONS, type OpenSection, SECTIONS, type Section } from './option-table.ts'
import { isOpenSection, isSection, type OptionRow, ROWS } from './options.ts'

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
export const defaultOf = ({ option }: OptionRow): string => option.codec.print(option.initial)

const RELATIVE_PATHS =
  'A relative path is relative to the file that contains it; from flags and environment, to the working directory.'

export const describe = ({ option }: OptionRow): string =>
  option.details === undefined ? option.help : `${option.help} ${option.details}`

/** Further properties of a row, as short sentences. */
export function listMarks({ option }: OptionRow): string[] {
  return [
    ...(option.codec.resolve ? [RELATIVE_PATHS] : []),
    ...(option.reload === 'restart' ? ['Needs a restart.'] : []),
    ...(option.secret ? ['Secret: @file:path names a file that contains it.'] : []),
    ...(option.fixed === undefined ? [] : ['Cannot be changed at run time.']),
  ]
}

/** Help of one section, or of all; `undefined` if there is no such section. */
export function renderHelp(section?: string): string | undefined {
  if (section === undefined) return [...SECTION_NAMES, ...OPEN_SECTIONS].map(renderSectionHelp).join('\n')
  return isSection(section) || isOpenSection(section) ? renderSectionHelp(section) : undefined
}

function renderSectionHelp(section: Section | OpenSection): string {
  const head = [`[${section}]`, ...wrap(SECTIONS[section], '  '), '']
  if (isOpenSection(section)) return [...head, ...renderOpenHelp(section), ''].join('\n')
  const rows = rowsOf(section).flatMap((row) => [
    `  --${row.name} <${row.option.codec.expects}>`,
    ...wrap([describe(row), ...listMarks(row), `Default: ${defaultOf(row) || 'empty'}.`].join(' '), '      '),
    '',
  ])
  return [...head, ...rows].join('\n')
}

const OPEN_HELP: Readonly<Record<OpenSection, readonly [flag: string, help: string]>> = {
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

function renderOpenHelp(section: OpenSection): readonly string[] {
  const [flag, help] = OPEN_HELP[section]
  return [`  --${section}.${flag}`, ...wrap(help, '      ')]
}
