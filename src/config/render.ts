// Everything that is printed from the table: help, the commented default.ini, the page of options, the settings in force.
import { describeSettings, type ShownSetting } from './describe.ts'
import { variableOf } from './environment.ts'
import { OPEN_SECTIONS, type OpenSection, SECTIONS, type Section } from './option-table.ts'
import { isOpenSection, isSection, type OptionRow, ROWS } from './options.ts'
import type { Settings } from './settings.ts'

const WIDTH = 96

function wrap(text: string, prefix: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && prefix.length + last.length + 1 + word.length <= WIDTH)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.map((line) => prefix + line)
}

const SECTION_NAMES = [...new Set(ROWS.map((row) => row.section))]
const rowsOf = (section: Section): readonly OptionRow[] => ROWS.filter((row) => row.section === section)
const defaultOf = ({ option }: OptionRow): string => option.codec.print(option.initial)

const KEY_SAMPLES: Readonly<Record<OpenSection, string>> = {
  admins: 'admin = password',
  jwt_keys: 'hmac:_default = c2VjcmV0',
  services: 'shop = /shop http://127.0.0.1:3000 required',
}

const RELATIVE_PATHS =
  'A relative path belongs to the folder of the file that names it; from flags and environment, to the working directory.'

/** What is true of a row beside its help, as short sentences. */
function marksOf({ option }: OptionRow): string[] {
  return [
    ...(option.codec.resolve ? [RELATIVE_PATHS] : []),
    ...(option.reload === 'restart' ? ['Needs a restart.'] : []),
    ...(option.secret ? ['Secret: @file:path names a file with it.'] : []),
    ...(option.http ? [] : ['Cannot be set over HTTP.']),
  ]
}

/** Help of one section, or of all; `undefined` where there is no such section. */
export function renderHelp(section?: string): string | undefined {
  if (section === undefined) return [...SECTION_NAMES, ...OPEN_SECTIONS].map(renderSectionHelp).join('\n')
  return isSection(section) || isOpenSection(section) ? renderSectionHelp(section) : undefined
}

function renderSectionHelp(section: Section | OpenSection): string {
  const head = [`[${section}]`, ...wrap(SECTIONS[section], '  '), '']
  if (isOpenSection(section)) return [...head, ...renderOpenHelp(section), ''].join('\n')
  const rows = rowsOf(section).flatMap((row) => [
    `  --${row.name} <${row.option.codec.expects}>`,
    ...wrap([row.option.help, ...marksOf(row), `Default: ${defaultOf(row) || 'empty'}.`].join(' '), '      '),
    '',
  ])
  return [...head, ...rows].join('\n')
}

const OPEN_HELP: Readonly<Record<OpenSection, readonly [flag: string, help: string]>> = {
  admins: ['NAME <password>', 'Secret: @file:path names a file with it. Over HTTP: /_node/_local/_config/admins/NAME.'],
  jwt_keys: [
    'KIND:ID <key>',
    'hmac: the secret in base64; rsa, ec, eddsa: the public key in PEM; jwks: a file with a set of keys. @file:path names a file with a key. A set cannot be named over HTTP.',
  ],
  services: ['NAME </mount http://host:port [required]>', 'Needs a restart. Cannot be set over HTTP.'],
}

function renderOpenHelp(section: OpenSection): readonly string[] {
  const [flag, help] = OPEN_HELP[section]
  return [`  --${section}.${flag}`, ...wrap(help, '      ')]
}

const INI_HEAD = `; Every option of Cardea, commented out, with its default. Generated: do not edit; copy what you need into a file of
; your own. A relative path belongs to the folder of the file that names it. Secrets can be given as @file:path.
;
; A comment begins with ; at the beginning of a line, or after a blank. "key =" without a value changes nothing.
`

/** A file with every row commented out, its help above it. */
export function renderDefaultIni(): string {
  const sections = SECTION_NAMES.map((section) =>
    ['', ...wrap(SECTIONS[section], '; '), `[${section}]`, ...rowsOf(section).flatMap(renderIniRow)].join('\n'),
  )
  // Their headers are comments too: the last [admins] of all files counts alone, even an empty one.
  const open = OPEN_SECTIONS.map((section) =>
    ['', ...wrap(SECTIONS[section], '; '), `;[${section}]`, `;${KEY_SAMPLES[section]}`].join('\n'),
  )
  return `${INI_HEAD}${[...sections, ...open].join('\n')}\n`
}

function renderIniRow(row: OptionRow): string[] {
  const value = defaultOf(row)
  const help = wrap([row.option.help, ...marksOf(row)].join(' '), '; ')
  return ['', ...help, `; Expects ${row.option.codec.expects}.`, `;${row.key} =${value === '' ? '' : ` ${value}`}`]
}

const PAGE_HEAD = `# Options

This page is generated from the table of options (\`src/config/option-table.ts\`).

\`[section] option\` in a file is \`--section.option\` on the command line is \`CARDEA_SECTION__OPTION\` in the environment
(capitals; every other character becomes \`_\`). A later layer wins over an earlier one:

1. the defaults below;
2. files: \`--config\`, which can be repeated, or \`CARDEA_CONFIG\` with colons between; a folder means its \`*.ini\` files in
   the order of their names. The last \`[admins]\` section of all files counts, alone. Passwords in clear in
   any of them are replaced by their hash at start and on reload, also in lines that do not count;
3. run time: what was set over HTTP, kept in the store;
4. the environment;
5. flags. A repeated flag of a list adds to it, of anything else the last one counts. A switch may stand alone.

- **Paths.** A relative path, also in \`sqlite:\`, belongs to the folder of the file that names it; from flags and
  environment, to the working directory.
- **Secrets** can be given as a file: \`option = @file:path\`, or \`CARDEA_SECTION__OPTION_FILE\`. They are never shown, and a
  file cannot be named over HTTP.
- **Takes effect**: *at once* on reload, or at the next *start*.
- **HTTP**: whether it can be set with \`PUT /_node/_local/_config/section/option\`.
- **Not in force yet**: read and checked, but nothing heeds it in this version.
- The earlier sections \`[httpd]\` and \`[couch_httpd_auth]\` count where \`[chttpd]\` and \`[chttpd_auth]\` say nothing, except
  where that would loosen something. Options and sections of CouchDB and ArangoDB that Cardea does not use are accepted
  and listed at start.
- **Mistakes** stop the start, and so does \`cardea config check\`: an unknown section or option ends with code 3, a bad value
  with 4, a file that is missing or has a line that cannot be parsed with 6, anything else with 1. Every message names the
  place and the nearest known name.
- **Variables**: every variable that begins with \`CARDEA_\` and is not known is a mistake, except for those that Kubernetes
  sets for a Service named \`cardea\` or \`cardea-…\` (\`CARDEA_SERVICE_HOST\`, \`CARDEA_PORT=tcp://…\` and such).
- **Empty values**: \`option =\` in a file is a bad value for an option that cannot be empty. For others it sets nothing, and
  an earlier file or the default counts.
- **Over HTTP** an unknown section is accepted and has no effect, as in CouchDB, unless its name is at most two edits away
  from a section of Cardea (one edit for sections of fewer than six letters): then the answer is 400 with that name.
`

/** The page of all options. */
export function renderOptionsPage(): string {
  const sections = SECTION_NAMES.map((section) => {
    const rows = rowsOf(section).map(renderPageRow)
    return `\n## ${section}\n\n${escapeCell(SECTIONS[section])}\n\n${TABLE_HEAD}\n${rows.join('\n')}\n`
  })
  const open = OPEN_SECTIONS.map(
    (section) =>
      `\n## ${section}\n\n${escapeCell(SECTIONS[section])}\n\n    [${section}]\n    ${KEY_SAMPLES[section]}\n`,
  )
  return PAGE_HEAD + [...sections, ...open].join('')
}

const TABLE_HEAD =
  '| option | meaning | expects | default | takes effect | HTTP | environment |\n|---|---|---|---|---|---|---|'

function renderPageRow(row: OptionRow): string {
  const { option } = row
  const marks = option.secret ? ['**Secret.**'] : []
  const cells = [
    `\`${row.key}\``,
    [escapeCell(option.help), ...marks].join(' '),
    escapeCell(option.codec.expects),
    defaultOf(row) === '' ? '' : `\`${defaultOf(row)}\``,
    option.reload === 'live' ? 'at once' : 'start',
    option.http ? 'yes' : 'no',
    `\`${variableOf(row.section, row.key)}\``,
  ]
  return `| ${cells.join(' | ')} |`
}

const escapeCell = (text: string): string => text.replace(/[\\|<>*_[\]]/g, '\\$&')

/** What is in force and where it came from, secrets masked; defaults only where `all` is asked for. */
export function renderSettings(settings: Settings, { all = false }: { readonly all?: boolean } = {}): string {
  const shown = describeSettings(settings).filter((setting) => all || !setting.isDefault)
  return shown.map((setting) => `${renderShown(setting)}\n`).join('')
}

function renderShown({ name, value, source, note }: ShownSetting): string {
  return `${name} =${value === '' ? '' : ` ${value}`}  (${note === undefined ? source : `${source}; ${note}`})`
}
