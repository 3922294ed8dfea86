import type { OperationName } from '../operations.ts'
import { type Description, flag, integer, listOf, named, nullable, number, object, text } from './schema.ts'

const UPSTREAM = named(
  'Upstream',
  object({
    door: text(),
    isReady: flag(),
    findings: listOf(object({ upstream: text(), problem: text(), reason: text(), check: text() })),
  }),
)

/** What the checks of the parts have found. */
export const CHECKED = {
  isReady: flag('Whether all parts work, as /_cardea/ready.'),
  parts: listOf(
    object({ name: text(), isWorking: flag(), problem: nullable(text()) }),
    'What Cardea cannot work without: the store, its keys, the upstream servers.',
  ),
  upstreams: listOf(UPSTREAM, 'Empty where no upstream is configured.'),
}

export const SERVER_DESCRIPTIONS = {
  health: {
    summary: 'Show the state of this node',
    reply: object({
      ...CHECKED,
      product: text(),
      version: text(),
      pid: integer(),
      store: text(),
      stalenessMs: number('The age of its knowledge of changes that other nodes made.'),
      node: text(),
      startedAt: integer('Seconds since the epoch.'),
      listening: listOf(text(), 'The URLs of all listeners.'),
      needRestart: listOf(text(), 'Changed options that take effect at the next start.'),
      warnings: listOf(text(), 'Warnings about the configuration.'),
    }),
  },
  reload: {
    summary: 'Read the whole configuration again',
    reply: object({
      applied: flag('false: the configuration has problems, and the previous one is kept.'),
      problems: listOf(text()),
      changed: listOf(text()),
      needRestart: listOf(text()),
      secrets: listOf(text(), 'The options whose files had other secrets than before, each with their number.'),
    }),
  },
} as const satisfies Partial<Record<OperationName, Description>>
