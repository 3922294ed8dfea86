// What the command line knows of dumps.
export {
  isStoredAdministrator,
  readAdministrator,
  toDocumentAdministrator,
} from '../identity/exchange/administrators.ts'
export { toDraftJson } from '../identity/exchange/draft.ts'
export { createDumpReader, type Found } from '../identity/exchange/dump.ts'
export { FORMAT_NAMES, FORMATS, type FormatName } from '../identity/exchange/formats.ts'
export type { Reading } from '../identity/exchange/reading.ts'
export { GRAVE_LOSSES, type Loss } from '../identity/exchange/writing.ts'
