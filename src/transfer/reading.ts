import { Refusal } from '../base/errors.ts'
import type { UserDraft } from '../directory/directory.ts'

/** What one record of a dump says. Reasons and notes are sentences for people, and hold nothing secret. */
export type Reading =
  | { readonly kind: 'user'; readonly id: string; readonly draft: UserDraft; readonly notes: readonly string[] }
  | { readonly kind: 'administrator'; readonly id: string; readonly text: string }
  /** No user, and no mistake either: a design document, a deletion, the head of the file. */
  | { readonly kind: 'passed'; readonly id?: string; readonly reason: string }
  /** `isLast`: nothing after it can be read. */
  | { readonly kind: 'refused'; readonly id?: string; readonly reason: string; readonly isLast?: boolean }

/** Reads the records of one dump, in order. */
export interface RecordReader {
  /** Never throws, whatever it is given. */
  read(value: unknown): Reading
  /** What is wrong with the dump as a whole, once it is over. */
  end(): Reading | undefined
}

/** A reader without memory. `findId` tells a record's name for the report, also where the record is refused. */
export const createRecordReader = (
  findId: (value: unknown) => string | undefined,
  read: (value: unknown) => Reading,
): RecordReader => ({
  end: () => undefined,
  read(value) {
    try {
      return read(value)
    } catch (error) {
      const id = findId(value)
      return { kind: 'refused', ...(id === undefined ? {} : { id }), reason: toReason(error) }
    }
  },
})

/** A sentence for the refusal of a record. Anything but a refusal is a defect and goes on. */
export function toReason(error: unknown): string {
  if (!(error instanceof Refusal)) throw error
  return error.about ?? error.message
}
