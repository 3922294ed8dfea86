// docs/reference/options.md and etc/default.ini, from the table of options.
import { FALSE_WORDS, TRUE_WORDS } from '../src/config/codecs.ts'
import { OPEN_SECTION_HELP, OPEN_SECTIONS, type OpenSection } from '../src/config/option-table.ts'
import { defaultOf, describe, listMarks, rowsOf, rowsOfNamed, type ShownRow, wrap } from '../src/config/render.ts'
import { OPTION_TABLE } from '../src/module-options.ts'

/** Before `HEAD`, which uses it. */
const renderWords = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ')

const HEAD = `# Options

This page is generated from the table of options: \`src/config/option-table.ts\`, and \`options.ts\` of each module.
\`cardea --help-all\` prints the options too.

## How to set an option

| where | how | example |
|---|---|---|
| file | \`[section]\`, then \`option = value\` | \`[chttpd_auth]\` \`timeout = 1200\` |
| run time | \`cardea config set\`, or \`PUT /_node/_local/_config/section/option\` | \`cardea config set chttpd_auth.timeout 1200\` |
| environment | \`CARDEA_SECTION__OPTION\`: capitals, every other character becomes \`_\` | \`CARDEA_CHTTPD_AUTH__TIMEOUT=1200\` |
| flag | \`--section.option\` | \`--chttpd_auth.timeout 1200\` |

A later row wins over an earlier one; without any, the default applies.

- **Files** are named by \`--config\`, which can be repeated, or by \`CARDEA_CONFIG\` with colons between them. Later files
  win. A folder means its \`*.ini\` files in the order of their names.
- **Run-time settings** are kept in the store and apply to every node.
- **Flags** of a list can be repeated. A flag of a boolean option needs no value.
- **Boolean options** are on with ${renderWords(TRUE_WORDS)}, and off with ${renderWords(FALSE_WORDS)}.
- **Relative paths**, also in \`sqlite:\`, are relative to the file that contains them; from flags and environment, to the
  working directory.
- **Secrets** can be read from a file: \`option = @file:path\`, or \`CARDEA_SECTION__OPTION_FILE\`. They are never shown.
- **Empty values**: \`option =\` in a file changes nothing. It is a bad value for an option that cannot be empty.

In the tables, *live* options take effect on reload or at once when changed at run time; *restart* options at the next
start.

## Mistakes

Mistakes prevent the start; \`cardea config check\` finds them beforehand. Every message names the place and the nearest
known name.

| mistake | exit code |
|---|---|
| unknown section, option or \`CARDEA_\` variable | 3 |
| bad value | 4 |
| missing file, or a line that cannot be parsed | 6 |
| anything else, such as options that contradict each other | 1 |

- Variables that Kubernetes sets for a Service named \`cardea\` or \`cardea-…\` (\`CARDEA_SERVICE_HOST\`,
  \`CARDEA_PORT=tcp://…\`) are ignored.
- At run time, an unknown section is accepted and has no effect, as in CouchDB. A name that is at most two edits away
  from a section of Cardea (one edit for fewer than six letters) is rejected with 400 and the name of that section.

## Files of CouchDB and ArangoDB

Options and sections of CouchDB and ArangoDB that Cardea does not use are accepted and listed at start. The earlier
sections \`[httpd]\` and \`[couch_httpd_auth]\` are used if \`[chttpd]\` and \`[chttpd_auth]\` do not set an option, unless that
would make it less strict.
`

const OPEN_SAMPLES: Readonly<Record<OpenSection, string>> = {
  admins: 'admin = password',
  jwt_keys: 'hmac:_default = c2VjcmV0',
  jwt_key_limits: 'hmac:_default = names=ada,phone-* roles=editor until=2030-01-31',
  services: 'shop = /shop http://127.0.0.1:3000 required',
}

const { sections: SECTIONS, named: NAMED } = OPTION_TABLE

/** The page of all options. */
export function renderOptionsPage(): string {
  const sections = [...SECTIONS].map(([section, help]) => renderRows(section, help, rowsOf(OPTION_TABLE, section)))
  const named = [...NAMED].map(([kind, row]) => renderRows(kind, row.help, rowsOfNamed(kind, row)))
  return HEAD + [...sections, ...OPEN_SECTIONS.map(renderOpenSection), ...named].join('')
}

const TABLE_HEAD = '| option | default | meaning | change |\n|---|---|---|---|'

function renderRows(section: string, help: string, rows: readonly ShownRow[]): string {
  const details = rows.flatMap(renderDetails)
  const parts = [
    `## ${section}`,
    escapeText(help),
    [TABLE_HEAD, ...rows.map(renderRow)].join('\n'),
    ...(details.length > 0 ? [details.join('\n')] : []),
    ...renderFixed(rows),
  ]
  return `\n${parts.join('\n\n')}\n`
}

function renderRow(row: ShownRow): string {
  const value = defaultOf(row)
  const cells = [
    `\`${row.key}\``,
    value.length > MAX_DEFAULT ? 'see below' : value === '' ? '' : `\`${value}\``,
    escapeText(row.option.help),
    row.option.reload,
  ]
  return `| ${cells.join(' | ')} |`
}

const MAX_DEFAULT = 40

/** What does not fit into the table: accepted values, a long default, further sentences. */
function renderDetails(row: ShownRow): readonly string[] {
  const { codec, more, secret } = row.option
  const value = defaultOf(row)
  const sentences = [
    ...(codec.isBoolean ? [] : [`expects ${escapeText(codec.expects)}.`]),
    ...(more === undefined ? [] : [escapeText(more)]),
    ...(value.length > MAX_DEFAULT ? [`Default: \`${value}\`.`] : []),
    ...(secret ? ['Secret.'] : []),
  ]
  return sentences.length === 0 ? [] : [`- \`${row.key}\`: ${sentences.join(' ')}`]
}

function renderFixed(rows: readonly ShownRow[]): readonly string[] {
  const fixed = rows.filter(({ option }) => option.fixed !== undefined).map(({ key }) => `\`${key}\``)
  if (fixed.length === 0) return []
  const names = fixed.length === rows.length ? 'these options' : fixed.join(', ')
  return [`Cannot be changed at run time: ${names}.`]
}

const renderOpenSection = (section: OpenSection): string =>
  `\n## ${section}\n\n${escapeText(OPEN_SECTION_HELP[section])}\n\n    [${section}]\n    ${OPEN_SAMPLES[section]}\n`

const escapeText = (text: string): string => text.replace(/[\\|<>*_[\]]/g, '\\$&')

const INI_HEAD = `; Every option of Cardea with its default, commented out. Generated: do not edit; copy what you need into a file of your
; own. A relative path is relative to the file that contains it. Secrets can be given as @file:path.
;
; A comment begins with ; at the beginning of a line or after a blank. "key =" without a value changes nothing.
`

/** A file with every option commented out below its help. */
export function renderDefaultIni(): string {
  const sections = [...SECTIONS].map(([section, help]) =>
    [
      '',
      ...wrap(help, '; '),
      `[${section}]`,
      ...rowsOf(OPTION_TABLE, section).flatMap((row) => renderIniRow(row)),
    ].join('\n'),
  )
  // Their headers are comments too: an empty [admins] section would replace that of an earlier file.
  const open = OPEN_SECTIONS.map((section) =>
    ['', ...wrap(OPEN_SECTION_HELP[section], '; '), `;[${section}]`, `;${OPEN_SAMPLES[section]}`].join('\n'),
  )
  const named = [...NAMED].map(([kind, row]) => {
    const rows = rowsOfNamed(kind, row).flatMap((each) => renderIniRow(each, row.sample.values[each.key]))
    return ['', ...wrap(row.help, '; '), `;[${kind}:${row.sample.name}]`, ...rows].join('\n')
  })
  return `${INI_HEAD}${[...sections, ...open, ...named].join('\n')}\n`
}

function renderIniRow(row: ShownRow, value = defaultOf(row)): string[] {
  const help = wrap([describe(row), ...listMarks(row)].join(' '), '; ')
  return ['', ...help, `; Expects ${row.option.codec.expects}.`, `;${row.key} =${value === '' ? '' : ` ${value}`}`]
}
