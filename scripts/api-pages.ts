// docs/reference/library.md and client.md, from the declarations that the build emits and from examples that tests run.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Field, USER_FIELDS } from '../src/directory/users/fields.ts'
import { type Declaration, type Entry, emitDeclarations, type Member, readEntry } from './declarations.ts'

interface Call {
  /** As programs write it: `cardea.users.create`. */
  readonly name: string
  readonly text: string
  readonly comment: string
}

interface Part {
  readonly title: string
  readonly calls: readonly Call[]
}

export interface ApiPage {
  readonly parts: readonly Part[]
  readonly types: readonly Declaration[]
  /** By the name of the call. */
  readonly examples: ReadonlyMap<string, string>
  readonly entry: Entry
}

const EXAMPLES = join(import.meta.dirname, '../examples/calls')

/** A line `// # name` begins the example of a call. What follows `// #` alone prepares the next one, and is not shown. */
export function readExamples(file: string): ReadonlyMap<string, string> {
  const [, ...parts] = readFileSync(join(EXAMPLES, file), 'utf8').split(/^\/\/ # ?/m)
  return new Map(
    parts.map((part) => {
      const end = part.indexOf('\n')
      return [part.slice(0, end), part.slice(end).trim()]
    }),
  )
}

const findAll = ({ declarations }: Entry, names: readonly string[]): Declaration[] =>
  names.flatMap((name) => declarations.get(name) ?? [])

/** The members of a declaration and of those it extends. */
function listMembers(entry: Entry, declaration: Declaration): Member[] {
  const { members, parents } = declaration
  const inherited = findAll(entry, parents).flatMap((parent) => listMembers(entry, parent))
  return [...members, ...inherited.filter(({ name }) => !members.some((member) => member.name === name))]
}

/** Calls of an object, and of the objects in its members. */
function listCalls(entry: Entry, members: readonly Member[], name: string): Call[] {
  return members.flatMap((member) => {
    const path = `${name}.${member.name}`
    if (member.isCall) return [{ name: path, text: member.text, comment: member.comment }]
    const type = entry.declarations.get(/: (\w+)(<\w+>)?$/.exec(member.text)?.[1] ?? '')
    const inner = type && type.kind === 'interface' ? listMembers(entry, type) : member.members
    return listCalls(entry, inner, path)
  })
}

const isFunction = ({ kind, text }: Declaration): boolean =>
  kind === 'function' || (kind === 'const' && text.includes('=>'))

const listFunctions = (entry: Entry): Call[] =>
  findAll(entry, entry.exported)
    .filter(isFunction)
    .map(({ name, text, comment }) => ({ name, text: text.replace(/: \{.*/, ''), comment }))

/** The object that a function returns has a name, or is written out in the function. */
function findRoot(entry: Entry, type: string, creator: string): readonly Member[] {
  const named = entry.declarations.get(type)
  if (named?.kind === 'interface') return listMembers(entry, named)
  return entry.declarations.get(creator)?.members ?? []
}

/** The types of a page; not those of objects whose calls it shows one by one. */
const listTypes = (entry: Entry, calls: readonly Call[]): Declaration[] =>
  findAll(entry, entry.exported).filter(
    (declaration) =>
      !isFunction(declaration) &&
      !declaration.members.some(({ text, comment }) =>
        calls.some((call) => call.text === text && call.comment === comment),
      ),
  )

export function readLibrary(): ApiPage {
  const modules = emitDeclarations('tsconfig.build.json')
  const entry = readEntry(modules, 'index')
  const calls = listCalls(entry, findRoot(entry, 'Cardea', 'createCardea'), 'cardea')
  const parts = [
    { title: '`cardea`', calls: [...listFunctions(entry), ...calls] },
    { title: '`cardea/express`', calls: listAdapter(modules, 'express') },
    { title: '`cardea/fastify`', calls: listAdapter(modules, 'fastify') },
    { title: '`cardea/web`', calls: listAdapter(modules, 'web') },
  ]
  const examples = readExamples('library.mjs')
  return { parts, types: listTypes(entry, calls), examples, entry }
}

const listAdapter = (modules: ReadonlyMap<string, string>, name: string): Call[] =>
  listFunctions(readEntry(modules, name)).map((call) => ({ ...call, name: `${name}: ${call.name}` }))

export function readClient(): ApiPage {
  const entry = readEntry(emitDeclarations('client/tsconfig.json'), 'index')
  const calls = [...listFunctions(entry), ...listCalls(entry, findRoot(entry, 'Client', 'createClient'), 'client')]
  const examples = readExamples('client.mjs')
  return { parts: [{ title: '`cardea/client`', calls }], types: listTypes(entry, calls), examples, entry }
}

const renderHead = (title: string, source: string, guide: string): string =>
  `<!-- Generated from the comments of ${source} and from examples/calls. Change those and run: npm run generate -->
# ${title}

Every call and type. How to use them: ${guide}. The examples are parts of
[one program](../../examples/calls/${title.toLowerCase()}.mjs); \`// →\` shows the value of the line before.
`

const NOT_RUN = '<!-- not run: test/docs/api-pages.test.ts runs the program that has it -->'

function renderCall({ name, text, comment }: Call, { examples, types }: ApiPage): string {
  const example = examples.get(name)
  const block = example === undefined ? '' : `\n${NOT_RUN}\n\`\`\`js\n${example}\n\`\`\`\n`
  const named = types.filter((type) => new RegExp(`\\b${type.name}\\b`).test(text))
  const links = named.map((type) => `[${type.name}](#${type.name.toLowerCase()}-type)`).join(', ')
  const prose = [`\`${text}\``, comment, links && `Types: ${links}`].filter(Boolean).join('\n\n')
  return `\n### ${name}\n\n${prose}\n${block}`
}

const escapeCell = (text: string): string => text.replaceAll('|', '\\|')

const renderRow = ({ name, text, comment }: Member): string => {
  const type = text.replace(/^readonly /, '').replace(new RegExp(`^${name}(\\?)?: `), '')
  const isOptional = text.replace(/^readonly /, '').startsWith(`${name}?`)
  return `| \`${name}${isOptional ? '?' : ''}\` | \`${escapeCell(type)}\` | ${escapeCell(comment)} |\n`
}

/** The declaration computes these members from the table of fields. */
const PLAIN_FIELDS: readonly Member[] = Object.entries(USER_FIELDS as Record<string, Field>)
  .filter(([, { type, given }]) => given !== undefined && (type === 'flag' || type === 'time'))
  .map(([name, { type, help = '' }]) => {
    const text = `${name}?: ${type === 'time' ? 'Date' : 'boolean'}`
    return { name, text, comment: help, isCall: false, members: [] }
  })

function renderType(declaration: Declaration, entry: Entry): string {
  const { name, kind, text, comment } = declaration
  const own = kind === 'type' ? [] : listMembers(entry, declaration)
  const fields = /PlainFields|PlainName/.test(text) ? PLAIN_FIELDS : []
  const members = [...own, ...fields.filter((field) => !own.some((member) => member.name === field.name))]
  const rows = members.map(renderRow).join('')
  const table = rows && `\n| member | type | |\n|---|---|---|\n${rows}`
  const form = rows ? '' : `\n\`${text.replace(/^type /, '')}\`\n`
  return `\n### ${name} type\n${comment && `\n${comment}\n`}${form}${table}`
}

const renderPage = (head: string, page: ApiPage): string =>
  [
    head,
    ...page.parts.map(({ title, calls }) => `\n## ${title}\n${calls.map((call) => renderCall(call, page)).join('')}`),
    `\n## Types\n${page.types.map((type) => renderType(type, page.entry)).join('')}`,
  ].join('')

export const renderLibraryPage = (): string =>
  renderPage(renderHead('Library', 'src/index.ts', '[use the library](../guides/library.md)'), readLibrary())

export const renderClientPage = (): string =>
  renderPage(renderHead('Client', 'client/src/index.ts', '[build an app](../guides/build-an-app.md)'), readClient())
