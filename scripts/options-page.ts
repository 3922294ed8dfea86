// docs/reference/options.md and etc/default.ini, from the table of options.
import { FALSE_WORDS, TRUE_WORDS } from '../src/config/codecs.ts'
import { OPEN_SECTIONS, type OpenSection, SECTIONS, type Section } from '../src/config/option-table.ts'
import { PROVIDER_ROWS } from '../src/config/providers.ts'
import { defaultOf, describe, listMarks, rowsOf, SECTION_NAMES, type ShownRow, wrap } from '../src/config/render.ts'

/** Before `HEAD`, which uses it. */
const renderWords = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ')

const HEAD = `# Options

This page is generated from the table of options (\`src/config/option-table.ts\`). \`cardea --help-all\` prints the options too.

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

const OPEN_SAMPLES: Readonly<Record<Exclude<OpenSection, 'provider'>, string>> = {
  admins: 'admin = password',
  jwt_keys: 'hmac:_default = c2VjcmV0',
  services: 'shop = /shop http://127.0.0.1:3000 required',
}

/** The page of all options. */
export function renderOptionsPage(): string {
  return HEAD + [...SECTION_NAMES.map(renderSection), ...OPEN_SECTIONS.map(renderOpenSection)].join('')
}

const TABLE_HEAD = '| option | default | meaning | change |\n|---|---|---|---|'

const renderSection = (section: Section): string => renderRows(section, rowsOf(section))

function renderRows(section: Section | 'provider', rows: readonly ShownRow[]): string {
  const details = rows.flatMap(renderDetails)
  const parts = [
    `## ${section}`,
    escapeText(SECTIONS[section]),
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
  section === 'provider'
    ? renderRows('provider', PROVIDER_ROWS)
    : `\n## ${section}\n\n${escapeText(SECTIONS[section])}\n\n    [${section}]\n    ${OPEN_SAMPLES[section]}\n`

const escapeText = (text: string): string => text.replace(/[\\|<>*_[\]]/g, '\\$&')

const INI_HEAD = `; Every option of Cardea with its default, commented out. Generated: do not edit; copy what you need into a file of your
; own. A relative path is relative to the file that contains it. Secrets can be given as @file:path.
;
; A comment begins with ; at the beginning of a line or after a blank. "key =" without a value changes nothing.
`

/** A file with every option commented out below its help. */
export function renderDefaultIni(): string {
  const sections = SECTION_NAMES.map((section) =>
    ['', ...wrap(SECTIONS[section], '; '), `[${section}]`, ...rowsOf(section).flatMap(renderIniRow)].join('\n'),
  )
  // Their headers are comments too: an empty [admins] section would replace that of an earlier file.
  const open = OPEN_SECTIONS.map((section) =>
    ['', ...wrap(SECTIONS[section], '; '), ...renderOpenSample(section)].join('\n'),
  )
  return `${INI_HEAD}${[...sections, ...open].join('\n')}\n`
}

/** A provider has no default for these. */
const PROVIDER_SAMPLE: Readonly<Record<string, string>> = {
  ';issuer =': ';issuer = https://id.example.com/realms/shop',
  ';audience =': ';audience = cardea',
}

const renderOpenSample = (section: OpenSection): readonly string[] =>
  section === 'provider'
    ? [';[provider:keycloak]', ...PROVIDER_ROWS.flatMap(renderIniRow).map((line) => PROVIDER_SAMPLE[line] ?? line)]
    : [`;[${section}]`, `;${OPEN_SAMPLES[section]}`]

function renderIniRow(row: ShownRow): string[] {
  const value = defaultOf(row)
  const help = wrap([describe(row), ...listMarks(row)].join(' '), '; ')
  return ['', ...help, `; Expects ${row.option.codec.expects}.`, `;${row.key} =${value === '' ? '' : ` ${value}`}`]
}
