/**
 * Follows a page as its reader would: runs every command in a folder of its own, writes every file, and compares what is
 * printed. `…` in expected output means what differs from run to run; a line of `…` alone for any lines.
 */
import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { startShared } from '../support/hosted-server.ts'
import { type Started, start, stop } from '../support/process.ts'
import type { Scope } from '../support/scope.ts'
import { type Block, listBlocks, readPage } from './page.ts'
import { createWalk, fill, notePassword, type RealCouchdb, toStart, unfill, type Walk } from './walk.ts'

export interface FollowOptions {
  /** A real CouchDB in place of the stand-in, and how it is configured. */
  readonly couchdb?: RealCouchdb
  readonly configureCouchdb?: (walk: Walk, ini: string) => Promise<void>
}

export async function followPage(scope: Scope, path: string, options: FollowOptions = {}): Promise<Walk> {
  const page = readPage(path)
  const walk = await createWalk(scope, page, options.couchdb)
  const blocks = listBlocks(page)
  for (const [index, block] of blocks.entries()) {
    if (block.notRun !== undefined) continue
    const isCompared = /^(text|json)$/.test(blocks[index + 1]?.language ?? '')
    const step = STEPS[block.language] ?? assert.fail(`${path}:${block.line}: cannot run ${block.language || 'this'}`)
    try {
      await step(walk, { ...block, isCompared }, options)
    } catch (error) {
      throw new Error(`${path}:${block.line}: ${error instanceof Error ? error.message : error}`, { cause: error })
    }
  }
  return walk
}

interface RunBlock extends Block {
  /** The next block shows what this one prints. */
  readonly isCompared: boolean
}
type Step = (walk: Walk, block: RunBlock, options: FollowOptions) => Promise<void> | void

const STEPS: Readonly<Record<string, Step>> = {
  sh: runShell,
  js: runOrWrite,
  ts: runOrWrite,
  ini: configure,
  html: write,
  text: compare,
  json: (walk, block) => (walk.printed ? compare(walk, block) : void JSON.parse(block.text)),
  nginx: checkProxyPage,
  caddyfile: checkProxyPage,
}

/** test/long/proxies.ts runs the examples of one page. */
function checkProxyPage({ page }: Walk): void {
  assert.match(page, /^`npm run test:long -- (nginx|caddy)` runs this text/m)
}

const SERVER = /^(cardea (serve|start)|bin\/cardea (serve|start)|npm start)\b.*$|^node (?<file>\S+)$/m

function findServer({ folder }: Walk, text: string): string | undefined {
  const found = SERVER.exec(text)
  const file = found?.groups?.['file']
  const isServer = file === undefined || readFileSync(join(folder, file), 'utf8').includes('listen(')
  return isServer ? found?.[0] : undefined
}

async function runShell(walk: Walk, { text, isCompared }: RunBlock): Promise<void> {
  const command = findServer(walk, text)
  const before = command === undefined ? text : text.slice(0, text.indexOf(command))
  if (before.trim() !== '') await runToEnd(walk, fill(walk, before), isCompared)
  if (command !== undefined) await serve(walk, command.replace(/\s+#.*$/, '').replace(/^npm start$/, 'cardea start'))
}

/** What a page installs is there already. */
const FUNCTIONS = `curl() { command curl -q -sS --noproxy "*" "$@"; }
npm() { [ "$1" = install ] || command npm "$@"; }`

/** A command that fails must show what it prints then. */
async function runToEnd(walk: Walk, script: string, isCompared: boolean): Promise<void> {
  const started = start(walk.scope, ['-ec', `${FUNCTIONS}\n${script}`], toStart(walk, ['sh']))
  const { code } = await started.ended
  const printed = code === 0 ? started.stdout() : `${started.stdout()}${started.stderr()}`
  assert.ok(code === 0 || isCompared, `ended with ${code}: ${printed}`)
  notePassword(walk, printed)
  walk.printed = () => printed
}

/** What each command prints last when it is ready. */
const READY: readonly [command: string, printed: RegExp][] = [
  ['cardea start', /Stop with Ctrl-C/],
  ['cardea serve', /"msg":"listening"/],
]

/** A server that is started again takes the place of the one before. */
async function serve(walk: Walk, command: string): Promise<void> {
  const key = /--config \S+/.exec(command)?.[0] ?? command
  const earlier = walk.servers.get(key)
  if (earlier) await stop(earlier)
  const server = startServer(walk, fill(walk, command))
  walk.servers.set(key, server)
  await server.says(READY.find(([start]) => command.includes(start))?.[1] ?? /\n/)
  notePassword(walk, server.stdout())
  walk.printed = server.stdout
}

/** In a process of its own if the commands of the page are such, or if it is a program of the page. */
function startServer(walk: Walk, command: string): Started {
  const [program, ...args] = command.split(/\s+/)
  if (walk.isHosted && program === 'cardea') return startShared(walk.scope, args, toStart(walk, []))
  return start(walk.scope, ['-c', `exec ${command}`], toStart(walk, ['sh']))
}

async function runOrWrite(walk: Walk, block: RunBlock): Promise<void> {
  if (block.name !== '') return write(walk, block)
  write(walk, { ...block, name: `block.m${block.language}` })
  await runToEnd(walk, `node block.m${block.language}`, block.isCompared)
}

function write(walk: Walk, { name, text }: Block): void {
  mkdirSync(dirname(join(walk.folder, name)), { recursive: true })
  writeFileSync(join(walk.folder, name), fill(walk, text))
}

/** Adds to the file it names. Lines without a file are only checked; blocks named `example-…` are for test/real/. */
async function configure(walk: Walk, { name, text: said }: RunBlock, options: FollowOptions): Promise<void> {
  const text = fill(walk, said)
  if (name.endsWith('.ini')) appendFileSync(join(walk.folder, name), `\n${text}`)
  if (name.startsWith('couchdb')) await options.configureCouchdb?.(walk, text)
  if (name === '') await checkConfiguration(walk, text)
}

async function checkConfiguration(walk: Walk, text: string): Promise<void> {
  const file = join(walk.folder, 'block.ini')
  writeFileSync(file, `${text}\n[admins]\nadmin = -pbkdf2-${'00'.repeat(20)},00,10\n`, { mode: 0o600 })
  await runToEnd(walk, 'cardea config check --config block.ini --store.url sqlite::memory:', false)
  // a later `--config .` would read it
  rmSync(file)
  walk.printed = undefined
}

function compare(walk: Walk, { text }: Block): void {
  const { printed } = walk
  walk.printed = undefined
  if (!printed) return
  const expected = text.trim().split('\n')
  const pattern = expected.map((line) => (line === '…' ? '(?:.*\n)*?' : `${toPattern(line)}\n`)).join('')
  assert.match(`${unfill(walk, printed()).replaceAll('\r', '').trim()}\n`, new RegExp(`^${pattern}$`))
}

const toPattern = (line: string): string =>
  line
    .split('…')
    .map((part) => part.trimEnd().replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + (part.endsWith(' ') ? '\\s*' : ''))
    .join('.*?')

export const readSecret = ({ folder }: Walk): string => readFileSync(join(folder, 'document-secret'), 'utf8').trim()
