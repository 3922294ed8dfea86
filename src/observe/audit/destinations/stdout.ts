import { toShownRecord } from '../audit-record.ts'
import type { Destination } from './destination.ts'

/** One JSON object per line on standard output. The log goes to standard error. */
export const createStdoutDestination = (): Destination => ({
  write: (records) =>
    new Promise((resolve, reject) => {
      const text = records.map((record) => `${JSON.stringify(toShownRecord(record))}\n`).join('')
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
    }),
  close: async () => {},
})
