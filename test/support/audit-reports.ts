import type { SecurityEvents } from '../../src/observe/security-events.ts'

const TEXTS: Readonly<Record<string, (fields: Readonly<Record<string, unknown>>) => string>> = {
  'audit.failed': ({ reason }) => `failed: ${reason}`,
  'audit.recovered': () => 'recovered',
  'audit.lost': ({ count }) => `lost ${count}`,
  'audit.broken': ({ reason }) => String(reason),
  'audit.unchecked': ({ reason }) => String(reason),
}

/** Adds a short text for each event about the audit trail. */
export const reportTo = (reported: string[]): Pick<SecurityEvents, 'record'> => ({
  record: (kind, fields) => void reported.push(TEXTS[kind]?.({ ...fields }) ?? kind),
})
