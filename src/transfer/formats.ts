import type { Administrator } from '../directory/account-directory.ts'
import { createCardeaReader, createCardeaWriter, isCardeaHead } from './cardea.ts'
import { createDocumentReader, createDocumentWriter, type DocumentNames, isDocumentRecord } from './document.ts'
import { FORMAT_NAMES, type FormatName } from './format-names.ts'
import { createMultiModelReader, isMultiModelRecord } from './multi-model.ts'
import { createMultiModelWriter } from './multi-model-writer.ts'
import type { RecordReader, RecordWriter, WrittenSetting } from './records.ts'

export interface WriterDeps extends DocumentNames {
  readonly administrators: readonly Administrator[]
  /** Settings made at run time. Only Cardea's own format contains them. */
  readonly settings?: readonly WrittenSetting[]
}

interface Format {
  /** Whether a dump that begins with this record is of this format. */
  isLike(first: unknown, names: DocumentNames): boolean
  createReader(names: DocumentNames): RecordReader
  createWriter(deps: WriterDeps): RecordWriter
}

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  cardea: {
    isLike: isCardeaHead,
    createReader: createCardeaReader,
    createWriter: ({ administrators, settings }) => createCardeaWriter(administrators, settings),
  },
  document: { isLike: isDocumentRecord, createReader: createDocumentReader, createWriter: createDocumentWriter },
  'multi-model': {
    isLike: isMultiModelRecord,
    createReader: createMultiModelReader,
    createWriter: createMultiModelWriter,
  },
}

export const guessFormat = (first: unknown, names: DocumentNames): FormatName | undefined =>
  FORMAT_NAMES.find((name) => FORMATS[name].isLike(first, names))
