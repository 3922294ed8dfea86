import type { Administrator } from '../directory/administrator-operations.ts'
import type { User } from '../directory/users/user.ts'
import { CARDEA_HEAD, createCardeaReader, renderCardeaTail, writeCardeaUser } from './cardea.ts'
import { createDocumentReader, writeDocument } from './document.ts'
import type { FormatName } from './format-names.ts'
import { MULTI_MODEL_READER, writeMultiModelUser } from './multi-model.ts'
import type { RecordReader, Written, WrittenSetting } from './records.ts'

/** `idPrefix`: the beginning of the ids of user documents, such as `org.couchdb.user:`. */
interface Format {
  createReader(idPrefix: string): RecordReader
  writeUser(user: User, idPrefix: string): Written
  /** A file is the head, the users with the separator between them, and the tail. Each user is on a line of its own. */
  readonly head: string
  readonly separator: string
  readonly holdsSettings: boolean
  renderTail(administrators: readonly Administrator[], settings: readonly WrittenSetting[]): string
}

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  cardea: {
    createReader: createCardeaReader,
    writeUser: writeCardeaUser,
    head: CARDEA_HEAD,
    separator: '\n',
    holdsSettings: true,
    renderTail: renderCardeaTail,
  },
  // a body for `POST /_users/_bulk_docs`
  document: {
    createReader: createDocumentReader,
    writeUser: writeDocument,
    head: '{"docs":[\n',
    separator: ',\n',
    holdsSettings: false,
    renderTail: () => ']}\n',
  },
  // like the data file of a dump
  'multi-model': {
    createReader: () => MULTI_MODEL_READER,
    writeUser: writeMultiModelUser,
    head: '',
    separator: '\n',
    holdsSettings: false,
    renderTail: () => '',
  },
}
