import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { after, test } from 'node:test'
import { type CardeaOptions, createTestCardea } from '../../src/index.ts'

export type DoorName = 'document' | 'multiModel'

export interface Sent {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Every line of each header. */
  readonly lines: NodeJS.Dict<string[]>
  readonly body: string
}

/** Those of the emulated servers too, which the types of the library keep from a program. */
export type AnyOptions = Readonly<Record<string, Readonly<Record<string, string | number | boolean | undefined>>>>

export interface Scenario {
  readonly name: string
  readonly options?: AnyOptions
  readonly send: Sent
  readonly status: number
  /** By lower-case name: the text, an expression, or `undefined` for absent. */
  readonly headers?: Readonly<Record<string, string | RegExp | undefined>>
  readonly json?: unknown
  readonly text?: string
}

export const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
export const ADMIN = { Authorization: basic('admin', 'adminpw') }

export function send(base: string, { method = 'GET', path, headers = {}, body }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base)
    const request = httpRequest({ hostname, port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          lines: response.headersDistinct,
          body: Buffer.concat(chunks).toString(),
        }),
      )
    })
    request.on('error', reject).end(body)
  })
}

type Running = Promise<{ readonly document: string; readonly multiModel: string; close(): Promise<void> }>

async function start(options: AnyOptions): Running {
  const cardea = await createTestCardea({ options: options as CardeaOptions })
  const { document, multiModel } = await cardea.listen()
  return { document: document[0] ?? '', multiModel: multiModel[0] ?? '', close: cardea.close }
}

/** Runs each scenario against one door; those with the same options share a server. */
export function runScenarios(door: DoorName, scenarios: readonly Scenario[]): void {
  const running = new Map<string, Running>()
  after(async () => {
    for (const server of running.values()) await (await server).close()
  })
  for (const scenario of scenarios) {
    test(scenario.name, async () => {
      const key = JSON.stringify(scenario.options ?? {})
      if (!running.has(key)) running.set(key, start(scenario.options ?? {}))
      const urls = await (running.get(key) as Running)
      compare(scenario, await send(urls[door], scenario.send))
    })
  }
}

function compare(scenario: Scenario, answer: Answer): void {
  const shown = `${answer.status} ${JSON.stringify(answer.lines)} ${answer.body}`
  assert.equal(answer.status, scenario.status, shown)
  for (const [name, expected] of Object.entries(scenario.headers ?? {})) {
    const actual = answer.lines[name]?.join('\n')
    if (expected instanceof RegExp) assert.match(actual ?? '', expected, name)
    else assert.equal(actual, expected, name)
  }
  if ('json' in scenario) assert.deepEqual(JSON.parse(answer.body), scenario.json)
  if (scenario.text !== undefined) assert.equal(answer.body, scenario.text)
}
