// The tables of docs/reference/admin-api.md, from the schemas of the operations. The text between them is written by hand.
import { readFileSync } from 'node:fs'
import { type DescribedOperation, listDescribed } from '../src/dialects/admin-api/openapi.ts'
import type { Schema } from '../src/dialects/admin-api/schemas/schema.ts'
import { OPERATIONS } from '../src/modules.ts'

const DESCRIBED = listDescribed(OPERATIONS)

const PAGE = new URL('../docs/reference/admin-api.md', import.meta.url)

const code = (text: string): string => `\`${text}\``
const escapePipes = (text: string): string => text.replaceAll('|', '\\|')

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: '`true` or `false`',
  integer: 'number',
  number: 'number',
  null: '`null`',
}

/** A type in words. Named objects have a table of their own. */
function renderType(schema: Schema): string {
  const { title, type = '', enum: words, anyOf, items, properties, additionalProperties } = schema
  if (title && properties) return `[${title}](#${title.toLowerCase()})`
  if (words) return words.filter(Boolean).map(code).join(', ')
  if (anyOf) return anyOf.map(renderType).join(' or ')
  if (items) return `list of ${renderType(items)}`
  if (properties) return `object of ${Object.keys(properties).map(code).join(', ')}`
  if (typeof additionalProperties === 'object') return `object of ${renderType(additionalProperties)} by name`
  return TYPES[type] ?? 'any'
}

const isPlain = ({ title, type = '', enum: words }: Schema): boolean => !title && !words && type in TYPES

/** A sentence as a clause in parentheses. */
const toClause = (text: string): string =>
  text.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())

/** A member in a list: its type only where the name does not suggest it. The page explains the current password. */
function renderMember([name, schema]: readonly [string, Schema]): string {
  const { items, anyOf: [inner = schema] = [], description } = schema
  const type = isPlain(items ?? inner) ? [] : [renderType(schema)]
  const clause = description && name !== 'current_password' ? [toClause(description)] : []
  return type.length + clause.length === 0 ? code(name) : `${code(name)} (${[...type, ...clause].join('; ')})`
}

function renderMembers({ properties = {}, required = [] }: Schema): string {
  const members = Object.entries(properties)
  const needed = members.filter(([name]) => required.includes(name)).map(renderMember)
  const others = members.filter(([name]) => !required.includes(name)).map(renderMember)
  const optional = others.length === 0 ? [] : [`optional: ${others.join(', ')}`]
  return [...(needed.length === 0 ? [] : [needed.join(', ')]), ...optional].join('; ')
}

function renderSchema(schema: Schema | undefined): string {
  if (!schema) return ''
  if (schema.properties && !schema.title) return renderMembers(schema)
  return schema.description ?? renderType(schema)
}

function renderPath({ path, query }: DescribedOperation): string {
  const names = Object.keys(query?.properties ?? {})
  const shown = path.replace('{key}', 'OPTION').replace(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase())
  return code(names.length === 0 ? shown : `${shown}?${names.join('&')}`)
}

function renderRow(row: DescribedOperation): string {
  const cells = [row.method, renderPath(row), row.summary, renderSchema(row.body), renderSchema(row.reply)]
  return `| ${cells.map(escapePipes).join(' | ')} |`.replaceAll('|  |', '| |')
}

const renderOperations = (rows: readonly DescribedOperation[]): string =>
  ['| method | path | summary | body | response |', '|---|---|---|---|---|', ...rows.map(renderRow)].join('\n')

/** All objects with a name, in the order of their names. */
function listNamed(): readonly Schema[] {
  const found = new Map<string, Schema>()
  const visit = (schema: Schema | boolean | undefined): void => {
    if (typeof schema !== 'object') return
    const { title, properties = {}, anyOf = [], items, additionalProperties } = schema
    if (title && schema.properties) found.set(title, schema)
    for (const inner of [...Object.values(properties), ...anyOf, items, additionalProperties]) visit(inner)
  }
  for (const { body, reply } of DESCRIBED) for (const schema of [body, reply]) visit(schema)
  return [...found.keys()].toSorted().flatMap((title) => found.get(title) ?? [])
}

const renderObject = ({ title, properties = {}, required = [] }: Schema): string =>
  [
    `### ${title}\n`,
    '| member | value | |',
    '|---|---|---|',
    ...Object.entries(properties).map(([name, schema]) => {
      const type = `${escapePipes(renderType(schema))}${required.includes(name) ? '' : ', optional'}`
      return `| ${code(name)} | ${type} | ${escapePipes(schema.description ?? '')} |`.replace('|  |', '| |')
    }),
  ].join('\n')

/** The operations of a section; `operations` has those that no other section has. */
const SECTIONS: Readonly<Record<string, RegExp>> = {
  session: /^\/session/,
  account: /^\/account/,
  links: /password-link/,
}

function renderBlock(name: string): string {
  if (name === 'objects') return listNamed().map(renderObject).join('\n\n')
  const own = SECTIONS[name]
  const isOther = (path: string) => !Object.values(SECTIONS).some((paths) => paths.test(path))
  return renderOperations(DESCRIBED.filter(({ path }) => (own ? own.test(path) : isOther(path))))
}

export const renderAdminApiPage = (): string =>
  readFileSync(PAGE, 'utf8').replace(
    /(<!-- generated: (\w+) -->\n)[\s\S]*?(\n<!-- end -->)/g,
    (_, start: string, name: string, end: string) => `${start}${renderBlock(name)}${end}`,
  )
