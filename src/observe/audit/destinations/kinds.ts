import type { Destination, DestinationSettings } from './destination.ts'
import { createFileDestination } from './file.ts'
import { createStdoutDestination } from './stdout.ts'
import { TcpSyslog } from './tcp-syslog.ts'
import { createWebhook } from './webhook.ts'

/** One kind of destination. The key in the table is what its text begins with, up to the first colon. */
export interface DestinationKind {
  /** Whether a command that prints results of its own must not use it. */
  readonly isForServers?: true
  create(text: string, settings: DestinationSettings): Destination
}

const webhook: DestinationKind = { create: (text, settings) => createWebhook(new URL(text), settings) }

export const DESTINATION_KINDS: Readonly<Record<string, DestinationKind>> = {
  stdout: { isForServers: true, create: createStdoutDestination },
  file: { create: (text, settings) => createFileDestination(text.slice('file:'.length), settings) },
  'syslog+tcp': { create: (text) => new TcpSyslog(new URL(text)) },
  http: webhook,
  https: webhook,
}

export function findDestinationKind(text: string): DestinationKind {
  const [scheme = ''] = text.split(':', 1)
  const kind = DESTINATION_KINDS[scheme]
  // the option accepts only these
  if (!kind) throw new TypeError('there is no destination of this kind')
  return kind
}

/** For logs, records and metrics: the path and query of a webhook may hold a secret. */
const toDestinationName = (text: string): string => (/^https?:/.test(text) ? new URL(text).origin : text)

/** The names of all destinations, in order. Two webhooks of one server get a number: metrics need unique names. */
export function toDestinationNames(texts: readonly string[]): readonly string[] {
  const names = texts.map(toDestinationName)
  return names.map((name, index) => {
    const count = names.slice(0, index).filter((other) => other === name).length
    return count === 0 ? name : `${name} (${count + 1})`
  })
}
