/** The server of a test: real, in this process, on free ports. */
import type { Log, LogFields } from '../../src/base/log.ts'
import { type Addresses, type Cardea, type CardeaOptions, createTestCardea } from '../../src/index.ts'
import type { Scope } from './scope.ts'

export type DoorName = 'document' | 'multiModel'

/** Options of the emulated servers too, which the types of the library leave out. */
export type AnyOptions = Readonly<Record<string, Readonly<Record<string, string | number | boolean | undefined>>>>

export interface LogLine {
  readonly level: keyof Log
  readonly message: string
  readonly fields: LogFields
}

export interface RecordedEvent extends LogFields {
  readonly event: string
  readonly level: string
}

export interface Server {
  readonly cardea: Cardea
  /** The first URL of each door. */
  readonly document: string
  readonly multiModel: string
  /** The URLs of all listeners. */
  readonly addresses: Addresses
  readonly log: readonly LogLine[]
  /** The security events since the last call that a request caused. */
  takeEvents(): readonly RecordedEvent[]
}

/** Closed with its scope. Options are merged section by section. */
export const startServer = (scope: Scope, ...given: readonly (AnyOptions | CardeaOptions)[]): Promise<Server> =>
  startServerWithFiles(scope, [], ...given)

/** The same with configuration files, which a reload reads again. */
export async function startServerWithFiles(
  scope: Scope,
  files: readonly string[],
  ...given: readonly (AnyOptions | CardeaOptions)[]
): Promise<Server> {
  const { log, lines, takeEvents } = recordLog()
  const cardea = await createTestCardea({ options: mergeOptions(given), files, log })
  scope.after(() => cardea.close())
  const addresses = await cardea.listen()
  const [document = ''] = addresses.document
  const [multiModel = ''] = addresses.multiModel
  return { cardea, document, multiModel, addresses, log: lines, takeEvents }
}

function mergeOptions(given: readonly (AnyOptions | CardeaOptions)[]): CardeaOptions {
  const options: Record<string, object> = {}
  for (const sections of given)
    for (const [section, values] of Object.entries(sections)) options[section] = { ...options[section], ...values }
  lastNode += 1
  // nodes that share a store have different names
  const isShared =
    'url' in (options['store'] ?? {}) && /^postgres/.test(String(Reflect.get(options['store'] ?? {}, 'url')))
  return isShared ? { ...options, node: { name: `cardea@test-${lastNode}`, ...options['node'] } } : options
}

let lastNode = 0

function recordLog() {
  const lines: LogLine[] = []
  let taken = 0
  const write =
    (level: keyof Log) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, fields })
  const log: Log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  const takeEvents = () => {
    const fresh = lines.slice(taken)
    taken = lines.length
    return fresh.flatMap(({ level, fields }) => {
      const { event } = fields
      return typeof event === 'string' && !event.startsWith('server.') ? [{ ...fields, event, level }] : []
    })
  }
  return { log, lines, takeEvents }
}

/** A line of the log with everything a reader could find in it. */
export function renderLogLine({ level, message, fields }: LogLine): string {
  const { error } = fields
  const detail = error instanceof Error ? `${error.stack} ${JSON.stringify(error)} ${String(error.cause)}` : undefined
  return JSON.stringify({ level, message, ...fields, error: detail })
}
