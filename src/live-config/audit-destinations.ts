// The places outside the store that get a copy of every audit record, as the options say.
import { readBounded } from '../base/files.ts'
import type { Config } from '../config/options.ts'
import { findDestinationKind, toDestinationNames } from '../observe/audit/destinations/kinds.ts'
import { QueuedDestination } from '../observe/audit/destinations/queued-destination.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import { reasonOf, StartError } from './start-error.ts'

export interface DestinationDeps {
  config(): Config
  readonly events: SecurityEvents
  /** Whether a command runs, which prints results of its own on standard output. */
  readonly isCommand: boolean
}

const MAX_KEY_BYTES = 10_000

/** The destinations that this process writes to. Throws a `StartError` if a webhook cannot be signed. */
export function openDestinations({ config, events, isCommand }: DestinationDeps) {
  const { destinations, ...options } = config().audit
  const settings = {
    maxFileBytes: options['file-size'],
    maxFiles: options['file-count'],
    webhookKey: loadWebhookKey(config()),
  }
  const names = toDestinationNames(destinations)
  return destinations.flatMap((text, index) => {
    const kind = findDestinationKind(text)
    if (isCommand && kind.isForServers) return []
    const destination = names[index] ?? text
    const reporter = createFailureReporter(events, destination)
    return [{ destination, queue: new QueuedDestination({ destination: kind.create(text, settings), reporter }) }]
  })
}

/** `undefined`: there is no webhook. */
export function loadWebhookKey({ audit }: Config): Uint8Array | undefined {
  if (!audit.destinations.some((text) => /^https?:/.test(text))) return undefined
  const file = audit['webhook-key-file']
  if (file === '') throw new StartError('audit.webhook-key-file: a webhook in audit.destinations needs it')
  try {
    const key = readBounded(file, { maxBytes: MAX_KEY_BYTES }).bytes.toString().trim()
    if (key === '') throw new Error('it is empty')
    return Buffer.from(key)
  } catch (error) {
    throw new StartError(`audit.webhook-key-file: ${file} cannot be used: ${reasonOf(error)}`, { cause: error })
  }
}

/** Records the failures of one destination, which is named as in its option. */
export const createFailureReporter = (events: SecurityEvents, destination: string) => ({
  onLost: (count: number) => events.record('audit.lost', { destination, count }),
  onFailed: (reason: string) => events.record('audit.failed', { destination, reason }),
  onRecovered: (seconds: number) => events.record('audit.recovered', { destination, seconds }),
})
