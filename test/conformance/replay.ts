/**
 * Replays cases: requests with the answers expected, as data. A folder of files enters; a server of its own is started
 * for each file, and each case becomes a test.
 */

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SILENT_LOG } from '../../src/base/log.ts'
import { toFlags } from '../../src/config/flags.ts'
import type { CardeaOptions } from '../../src/index.ts'
import { openConfiguration } from '../../src/live-config/load.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { type App, createApp } from '../../src/wiring/app.ts'
import { start, stop } from '../support/process.ts'
import { send } from '../support/request.ts'
import { createSharedScope, makeFolder, type Scope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import { compareAnswer, type Expectation, parse, type Received } from './compare.ts'
import { fill, type Json, type JsonObject, toBasic, type Variables } from './operators.ts'

interface Sent {
  readonly method?: string
  readonly path: Json
  readonly headers?: JsonObject
  readonly json?: Json
  readonly text?: Json
}

interface Step {
  readonly send: Sent
  readonly save?: Readonly<Record<string, { readonly json?: string; readonly header?: string; readonly re?: string }>>
  readonly expect?: Expectation
  /** Milliseconds: some cases are about time passing. */
  readonly sleep?: number
}

interface Case {
  readonly id: string
  readonly config?: Readonly<Record<string, string | null>>
  readonly users?: readonly JsonObject[]
  readonly drop?: readonly string[]
  readonly steps: readonly Step[]
}

interface Group {
  readonly door: 'document' | 'multi-model'
  readonly flags?: readonly string[]
  readonly files?: Readonly<Record<string, string>>
  readonly config?: Readonly<Record<string, string | null>>
  readonly cases: readonly Case[]
}

const ADMINISTRATOR = { name: 'admin', password: 'adminpw' }
const AS_ADMINISTRATOR = { Authorization: toBasic(ADMINISTRATOR.name, ADMINISTRATOR.password) }

export interface Setting {
  /** Names of files that are not replayed. */
  readonly omitted?: readonly string[]
  /** Names of the only files that are. */
  readonly only?: readonly string[] | undefined
  /** Each server is a program with so many worker processes. Files are replayed one after the other. */
  readonly workers?: number
  /** All servers have the same users: files are replayed one after the other. */
  readonly sharesUsers?: boolean
  /** Options in addition to those of the cases, for each server. */
  openOptions?(scope: Scope): Promise<CardeaOptions>
  /** Cases that cannot pass, by file and id. It is a failure if one passes. */
  readonly exceptions?: Readonly<Record<string, Exception>>
}

export interface Exception {
  readonly reason: string
  /** What every problem of the case shows. */
  readonly shown: RegExp
}

/** Makes tests of the cases in the files of `test/fixtures/conformance/<name>`. */
export function replayCases(name: string, setting: Setting = {}): void {
  const folder = fileURLToPath(new URL(`../fixtures/conformance/${name}`, import.meta.url))
  const { omitted = [], only, exceptions = {}, workers, sharesUsers = false } = setting
  const isReplayed = (file: string) => !omitted.includes(file) && (only?.includes(file) ?? true)
  const files = readdirSync(folder).filter((entry) => entry.endsWith('.json') && isReplayed(basename(entry, '.json')))
  // side by side: some cases wait for seconds
  describe(name, { concurrency: workers === undefined && !sharesUsers }, () => {
    const unused = new Set(Object.keys(exceptions))
    for (const entry of files) {
      const group: Group = JSON.parse(readFileSync(join(folder, entry), 'utf8'))
      const file = basename(entry, '.json')
      for (const { id } of group.cases) unused.delete(`${file}/${id}`)
      describe(file, { concurrency: false }, () => replayGroup(file, group, setting))
    }
    it('has only exceptions that are cases', () => assert.deepEqual([...unused], []))
  })
}

function replayGroup(file: string, group: Group, { openOptions, workers, exceptions = {} }: Setting): void {
  let server: Server | undefined
  after(() => server?.stop())
  const scope = createSharedScope()
  const running = (): Server => {
    assert.ok(server, 'the server did not start')
    return server
  }
  before(async () => {
    server = workers ? await startWorkers(scope, group, workers) : await startServer(group, await openOptions?.(scope))
    const { url } = server
    if (openOptions) await waitUntil(async () => (await send(url, { path: '/_cardea/ready' })).status === 200)
    for (const [option, value] of Object.entries(group.config ?? {})) await setOption(url, option, value)
  })
  for (const single of group.cases) {
    const exception = exceptions[`${file}/${single.id}`]
    const replay = () => replayCase(single, group.door, running().url)
    if (!exception) it(single.id, async () => assert.deepEqual(await replay(), []))
    else it(`${single.id} differs: ${exception.reason}`, () => requireDifference(exception, replay))
  }
}

async function requireDifference({ shown }: Exception, replay: () => Promise<readonly string[]>): Promise<void> {
  const problems = await replay().catch((error: Error) => [error.message])
  assert.notDeepEqual(problems, [], 'it passes: it is no exception')
  for (const problem of problems) assert.match(problem, shown)
}

interface Server {
  readonly url: string
  stop(): Promise<void>
}

function writeFiles(folder: string, group: Group): void {
  const files = { 'local.ini': '[chttpd_auth]\niterations = 10\n', ...group.files }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text, { mode: 0o600 })
  }
}

async function startWorkers(scope: Scope, group: Group, workers: number): Promise<Server> {
  const folder = makeFolder(scope)
  writeFiles(folder, group)
  const options = { ...toOptions(group, folder), store: { url: `sqlite:${join(folder, 'store.db')}` } }
  const flags = Object.entries(options).flatMap(([section, values]) =>
    Object.entries(values ?? {}).flatMap(([key, value]) => [`--${section}.${key}`, String(value)]),
  )
  const args = ['serve', '--config', join(folder, 'local.ini'), '--server.workers', String(workers), ...flags]
  // cases change this option
  const env = { CARDEA_CHTTPD_AUTH__ITERATIONS: undefined }
  const program = start(scope, args, { hasFamily: true, cwd: folder, env })
  const { document, multiModel } = await program.doors()
  return { url: group.door === 'document' ? document : multiModel, stop: () => stop(program) }
}

async function startServer(group: Group, more: CardeaOptions = {}): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-replay-'))
  writeFiles(folder, group)
  // as `cardea serve` does: the library has stricter defaults
  const flags = {
    configs: [join(folder, 'local.ini')],
    flags: toFlags({ ...toOptions(group, folder), ...more }),
    problems: [],
  }
  const cardea = await createApp({
    load: () => openConfiguration({ table: OPTION_TABLE, flags, env: {}, cwd: folder }),
    log: SILENT_LOG,
  })
  const { document, multiModel } = await cardea.listen()
  const url = (group.door === 'document' ? document : multiModel)[0] ?? ''
  return { url, stop: () => stopServer(cardea, folder) }
}

async function stopServer(cardea: App, folder: string): Promise<void> {
  await cardea.close()
  rmSync(folder, { recursive: true, force: true })
}

function toOptions({ flags = [] }: Group, folder: string): CardeaOptions {
  const options: Record<string, Record<string, string | number>> = {
    store: { url: 'sqlite::memory:' },
    chttpd: { port: 0 },
    server: { endpoint: 'tcp://127.0.0.1:0' },
    admins: { [ADMINISTRATOR.name]: ADMINISTRATOR.password },
  }
  for (let i = 0; i < flags.length; i += 2) {
    const [, section = '', key = ''] = /^--([^.]+)\.(.+)$/.exec(flags[i] ?? '') ?? []
    options[section] = { ...options[section], [key]: (flags[i + 1] ?? '').replaceAll('{dir}', folder) }
  }
  return options
}

async function replayCase(single: Case, door: Group['door'], url: string): Promise<readonly string[]> {
  const users = USERS[door]
  const undo: (readonly [string, string | null])[] = []
  const names = (single.users ?? []).map((user) => String(user[users.nameMember]))
  try {
    for (const [option, value] of Object.entries(single.config ?? {})) undo.unshift(await setOption(url, option, value))
    for (const name of names) await users.remove(url, name)
    for (const user of single.users ?? []) await users.create(url, user)
    return await replaySteps(single.steps, url)
  } finally {
    for (const name of [...names, ...(single.drop ?? [])]) await users.remove(url, name)
    for (const [option, value] of undo) await setOption(url, option, value)
  }
}

async function replaySteps(steps: readonly Step[], url: string): Promise<readonly string[]> {
  const vars: Variables = new Map()
  const problems: string[] = []
  for (const [index, step] of steps.entries()) {
    if (step.sleep !== undefined) {
      await pause(step.sleep)
      continue
    }
    const answer = await context(url, step.send, vars)
    const found = [...save(step, answer, vars), ...(step.expect ? compareAnswer(step.expect, answer) : [])]
    problems.push(...found.map((line) => `step ${index + 1}: ${line} (${answer.status} ${answer.body})`))
  }
  return problems
}

async function context(url: string, given: Sent, vars: Variables): Promise<Received> {
  const { method = 'GET', path, json, text } = given
  // filling an object gives an object
  const headers: Record<string, string> = { ...(fill(given.headers ?? {}, vars) as Record<string, string>) }
  const body = json !== undefined ? JSON.stringify(fill(json, vars)) : text === undefined ? text : `${fill(text, vars)}`
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  if (json !== undefined && !hasType) headers['Content-Type'] = 'application/json'
  if (body !== undefined) headers['Content-Length'] = String(Buffer.byteLength(body))
  const answer = await send(url, { method, path: String(fill(path, vars)), headers, ...(body ? { body } : {}) })
  const lines = Object.entries(answer.lines).map(([name, values]) => [name, values?.join('\n') ?? ''] as const)
  return { status: answer.status, headers: new Map(lines), body: answer.body }
}

/** Keeps what later steps need. */
function save({ save: wanted = {} }: Step, answer: Received, vars: Variables): readonly string[] {
  const missing: string[] = []
  for (const [name, { json, header, re = '' }] of Object.entries(wanted)) {
    const source = header === undefined ? answer.body : (answer.headers.get(header) ?? '')
    const value = json === undefined ? new RegExp(re, 's').exec(source)?.[1] : findAt(parse(answer.body), json)
    if (value === undefined) missing.push(`nothing to save as ${name}`)
    else vars.set(name, value)
  }
  return missing
}

const findAt = (value: unknown, path: string): Json | undefined =>
  path.split('.').reduce<Json | undefined>(
    (at, key) => (typeof at === 'object' && at !== null ? (at as JsonObject)[key] : undefined),
    // it came from JSON
    value as Json,
  )

const optionPath = (option: string): string =>
  `/_node/_local/_config/${option.split('/').map(encodeURIComponent).join('/')}`

const NOTHING: Variables = new Map()

/** Gives what it was before, so that it can be put back. */
async function setOption(url: string, option: string, value: string | null): Promise<readonly [string, string | null]> {
  const path = optionPath(option)
  const was = await context(url, { path, headers: AS_ADMINISTRATOR }, NOTHING)
  const change = value === null ? { method: 'DELETE' } : { method: 'PUT', json: value }
  const answer = await context(url, { ...change, path, headers: AS_ADMINISTRATOR }, NOTHING)
  const isDone = answer.status === 200 || (value === null && answer.status === 404)
  assert.ok(isDone, `setting ${option}: ${answer.status} ${answer.body}`)
  const text = was.status === 200 ? String(parse(was.body)) : null
  return [option, text === '***' ? null : text]
}

const documentPath = (name: string): string => `/_users/org.couchdb.user:${encodeURIComponent(name)}`

/** How each door makes and removes the users of a case. */
const USERS = {
  document: {
    nameMember: 'name',
    async create(url: string, user: JsonObject) {
      const json = { type: 'user', roles: [], ...user }
      const path = documentPath(String(user['name']))
      const answer = await context(url, { method: 'PUT', path, headers: AS_ADMINISTRATOR, json }, NOTHING)
      assert.equal(answer.status, 201, answer.body)
    },
    async remove(url: string, name: string) {
      const found = await context(url, { path: documentPath(name), headers: AS_ADMINISTRATOR }, NOTHING)
      const revision = findAt(parse(found.body), '_rev')
      if (found.status !== 200) return
      const path = `${documentPath(name)}?rev=${revision}`
      await context(url, { method: 'DELETE', path, headers: AS_ADMINISTRATOR }, NOTHING)
    },
  },
  'multi-model': {
    nameMember: 'user',
    async create(url: string, json: JsonObject) {
      const path = '/_api/user'
      const answer = await context(url, { method: 'POST', path, headers: AS_ADMINISTRATOR, json }, NOTHING)
      assert.equal(answer.status, 201, answer.body)
    },
    async remove(url: string, name: string) {
      const path = `/_api/user/${encodeURIComponent(name)}`
      await context(url, { method: 'DELETE', path, headers: AS_ADMINISTRATOR }, NOTHING)
    },
  },
} as const
