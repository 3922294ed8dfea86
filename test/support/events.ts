import type { LogFields } from '../../src/base/log.ts'
import { type Cardea, createTestCardea } from '../../src/index.ts'
import type { AnyOptions } from './server.ts'

export interface RecordedEvent extends LogFields {
  readonly event: string
  readonly level: string
}

export interface Observed {
  readonly cardea: Cardea
  readonly document: string
  readonly multiModel: string
  /** Every line of the log, as text. */
  readonly lines: string[]
  /** The security events since the last call, without those that the sender of a request did not cause. */
  take(): readonly RecordedEvent[]
}

interface Scope {
  after(work: () => unknown): void
}

/** A server with everything it logs. */
export async function observe(scope: Scope, options: AnyOptions = {}): Promise<Observed> {
  const lines: string[] = []
  const events: RecordedEvent[] = []
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      lines.push(JSON.stringify({ level, message, ...fields, error: describe(fields['error']) }))
      if (typeof fields['event'] === 'string') events.push({ ...fields, event: fields['event'], level })
    }
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  const cardea = await createTestCardea({ options, log })
  scope.after(() => cardea.close())
  const { document, multiModel } = await cardea.listen()
  const take = () => events.splice(0).filter(({ event }) => !event.startsWith('server.'))
  return { cardea, document: document[0] ?? '', multiModel: multiModel[0] ?? '', lines, take }
}

const describe = (error: unknown): string | undefined =>
  error instanceof Error ? `${error.stack} ${JSON.stringify(error)} ${String(error.cause)}` : undefined
