/** The folder in which a page is followed, and what differs there from the text of the page. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { connectPostgres, findFreePort } from '../store/postgres-server.ts'
import { CARDEA, findBundled, ROOT, type Started } from '../support/process.ts'
import { makeFolder, type Scope } from '../support/scope.ts'
import { installHostedCommand } from './hosted-command.ts'
import { listBlocks, readPage } from './page.ts'
import { openArangodb, openCouchdb, openKeycloak } from './stand-ins.ts'

export interface Walk {
  readonly page: string
  /** A file of the page sets where the multi-model door listens. */
  readonly setsEndpoint: boolean
  /** Its commands run in processes that they share. Those of one page are processes, as for its reader. */
  readonly isHosted: boolean
  readonly scope: Scope
  readonly folder: string
  /** By the port that the page speaks of: the port in this run. */
  readonly ports: ReadonlyMap<string, number>
  /** By the text of the page: what it is in this run. */
  readonly replaced: Map<string, string>
  readonly servers: Map<string, Started>
  /** What the last command printed; `undefined` once it was compared, or when nothing was run. */
  printed: (() => string) | undefined
}

export interface RealCouchdb {
  readonly port: number
  readonly username: string
  readonly password: string
}

const DOORS: readonly string[] = ['5984', '8529']
const PORTS: readonly string[] = [...DOORS, '15984', '8530', '3000', '5985', '8539', '6984', '9108']
const POSTGRES = 'postgres://cardea:secret@127.0.0.1:5432/cardea'

/** Other sections have an endpoint too. */
const SERVER_ENDPOINT = /^\[server\][^[]*^endpoint = /m

export async function createWalk(scope: Scope, page: string, couchdb?: RealCouchdb): Promise<Walk> {
  const folder = makeFolder(scope)
  prepareFolder(folder, page)
  const command = join(folder, 'bin', 'cardea')
  const isHosted = page !== readPage('README.md')
  if (isHosted) await installHostedCommand(scope, command)
  else symlinkSync(CARDEA, command)
  const ports = new Map<string, number>()
  for (const port of PORTS) if (DOORS.includes(port) || page.includes(port)) ports.set(port, await findFreePort())
  if (couchdb) ports.set('15984', couchdb.port)
  else if (page.includes('15984')) ports.set('15984', await openCouchdb(scope, folder))
  if (page.includes('8080')) ports.set('8080', await openKeycloak(scope))
  if (page.includes('8530')) ports.set('8530', await openArangodb(scope, folder))
  const replaced = new Map(couchdb ? [['PASSWORD', couchdb.password]] : [])
  if (couchdb) writeFileSync(join(folder, 'couchdb-admin'), `${couchdb.username}:${couchdb.password}`, { mode: 0o600 })
  if (page.includes(POSTGRES)) replaced.set(POSTGRES, await openPostgres(scope))
  const setsEndpoint = listBlocks(page).some(({ notRun, text }) => !notRun && SERVER_ENDPOINT.test(text))
  return { page, setsEndpoint, isHosted, scope, folder, ports, replaced, servers: new Map(), printed: undefined }
}

async function openPostgres(scope: Scope): Promise<string> {
  const server = await connectPostgres()
  scope.after(() => server.stop())
  return server.createPlace()
}

const INSTALLS = /^npm install (?!--global)(.+)$/gm

/** What the page installs, and nothing else. That of the package of Cardea is on a page of its own. */
function listInstalled(page: string): Set<string> {
  const names = [...page.matchAll(INSTALLS)].flatMap(([, names = '']) => names.split(' '))
  const hasLink = page.includes('README.md#programs-that-import-cardea')
  return new Set(
    [...names, ...(hasLink ? ['cardea'] : [])].map((name) => name.replace(/^.*\/cardea-.*\.tgz$/, 'cardea')),
  )
}

function prepareFolder(folder: string, page: string): void {
  mkdirSync(join(folder, 'bin'))
  mkdirSync(join(folder, 'node_modules'))
  for (const name of listInstalled(page)) {
    if (name === 'cardea') prepareCardea(join(folder, 'node_modules', name))
    else linkPackage(folder, name)
  }
}

function linkPackage(folder: string, name: string): void {
  const path = join(folder, 'node_modules', name)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules', name), path)
}

/** Cardea as a package. */
function prepareCardea(own: string): void {
  mkdirSync(own)
  const names = ['index', 'express', 'fastify', 'web', 'client']
  const exports = Object.fromEntries(names.map((name) => [name === 'index' ? '.' : `./${name}`, `./${name}.js`]))
  writeFileSync(join(own, 'package.json'), JSON.stringify({ name: 'cardea', type: 'module', exports }))
  for (const name of names) {
    const source = name === 'client' ? join(ROOT, 'client/src/index.ts') : findBundled(name)
    writeFileSync(join(own, `${name}.js`), `export * from '${pathToFileURL(source).href}'\n`)
  }
}

export function toStart({ setsEndpoint, folder, ports }: Walk, command: readonly string[]) {
  const path = [join(folder, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
  const [document, multiModel] = DOORS.map((port) => ports.get(port))
  const env: Record<string, string> = { PATH: path, HOME: folder, CARDEA_CHTTPD__PORT: String(document) }
  // the environment would win over the file
  if (!setsEndpoint) env['CARDEA_SERVER__ENDPOINT'] = `tcp://127.0.0.1:${multiModel}`
  return { command, cwd: folder, env }
}

/** The page's text with the ports, addresses and passwords of this run. */
export function fill({ ports, replaced }: Walk, text: string): string {
  let filled = text
  for (const [said, meant] of replaced) filled = filled.replaceAll(said, meant)
  return filled.replaceAll(/(?<=[:(]|port[ =]+)\d{4,5}\b/g, (port) => String(ports.get(port) ?? port))
}

export function unfill({ ports, replaced }: Walk, text: string): string {
  let shown = text
  for (const [said, meant] of ports) shown = shown.replaceAll(`:${meant}`, `:${said}`)
  for (const [said, meant] of replaced) shown = shown.replaceAll(meant, said)
  return shown
}

/** The password that a first start prints is PASSWORD in the rest of the page. */
export function notePassword({ replaced }: Walk, printed: string): void {
  const password = /^ {2}password {2}(\S+)$/m.exec(printed)?.[1]
  if (password !== undefined) replaced.set('PASSWORD', password)
}
