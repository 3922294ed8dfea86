/** Tests as rows: a request and the response that is expected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Reply, type Request, send } from './request.ts'
import { createSharedScope, type Scope } from './scope.ts'
import { type AnyOptions, type DoorName, type Server, startServer } from './server.ts'

export interface Row extends Request {
  readonly name: string
  readonly options?: AnyOptions
  readonly expect: Expected
}

export interface Expected {
  readonly status: number
  /** By lower-case name: the text, an expression, or `undefined` for absent. */
  readonly headers?: Readonly<Record<string, string | RegExp | undefined>>
  readonly json?: unknown
  readonly text?: string
}

export interface RowsOptions {
  /** Makes a new server ready for the rows. */
  prepare?(server: Server): Promise<void>
  /** Each row that changes something gets a server of its own: later rows would find the change. */
  readonly isSeparate?: boolean
}

/** Runs each row against one door; rows with the same options share a server. */
export function runRows(door: DoorName, rows: readonly Row[], { prepare, isSeparate }: RowsOptions = {}): void {
  const servers = new Map<string, Promise<Server>>()
  const shared = createSharedScope()
  const start = async (scope: Scope, options: AnyOptions) => {
    const server = await startServer(scope, options)
    await prepare?.(server)
    return server
  }
  const startShared = (options: AnyOptions) => {
    const key = JSON.stringify(options)
    const server = servers.get(key) ?? start(shared, options)
    servers.set(key, server)
    return server
  }
  for (const { name, options = {}, expect, ...request } of rows) {
    test(name, async (t) => {
      const hasOwn = isSeparate && isChange(request, expect)
      const server = await (hasOwn ? start(t, options) : startShared(options))
      compare(await send(server[door], request), expect)
    })
  }
}

/** A request that is rejected changes nothing. */
const isChange = ({ method = 'GET' }: Request, { status }: Expected): boolean =>
  status < 400 && method !== 'GET' && method !== 'HEAD'

function compare(reply: Reply, expected: Expected): void {
  const shown = `${reply.status} ${JSON.stringify(reply.lines)} ${reply.body}`
  assert.equal(reply.status, expected.status, shown)
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    const actual = reply.lines[name]?.join('\n')
    if (value instanceof RegExp) assert.match(actual ?? '', value, name)
    else assert.equal(actual, value, name)
  }
  if ('json' in expected) assert.deepEqual(JSON.parse(reply.body), expected.json)
  if (expected.text !== undefined) assert.equal(reply.body, expected.text)
}
