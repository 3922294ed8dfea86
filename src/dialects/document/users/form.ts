import type { HeaderPair } from '../../../http/request-context.ts'
import type { ChangesQuery, FeedKind } from './changes-query.ts'
import type { ChangeRow } from './cursor.ts'
import { renderLeaf } from './leaf.ts'
import { renderSequence, toSequenceText } from './sequence.ts'

/** How a feed is spelled, and how long it goes on. */
export interface FeedForm {
  readonly headers: readonly HeaderPair[]
  readonly head: string
  /** `json` is the row; `sequence` its sequence as text. */
  row(json: string, sequence: string, isFirst: boolean): string
  readonly beat: string
  tail(last: string, pending: number): string
  readonly waits: 'never' | 'for the first' | 'always'
}

const JSON_HEADERS: readonly HeaderPair[] = [
  ['Cache-Control', 'must-revalidate'],
  ['Content-Type', 'application/json'],
]

const LIST = {
  headers: JSON_HEADERS,
  head: '{"results":[\n',
  row: (json: string, _sequence: string, isFirst: boolean) => `${isFirst ? '' : ',\n'}${json}`,
  beat: '\n',
  tail: (last: string, pending: number) => `\n],\n"last_seq":${last},"pending":${pending}}\n`,
}

export const FORMS: Readonly<Record<FeedKind, FeedForm>> = {
  normal: { ...LIST, waits: 'never' },
  longpoll: { ...LIST, waits: 'for the first' },
  continuous: {
    headers: JSON_HEADERS,
    head: '',
    row: (json) => `${json}\n`,
    beat: '\n',
    tail: (last, pending) => `{"last_seq":${last},"pending":${pending}}\n`,
    waits: 'always',
  },
  eventsource: {
    headers: [
      ['Cache-Control', 'no-cache'],
      ['Content-Type', 'text/event-stream'],
    ],
    head: '',
    row: (json, sequence) => `data: ${json}\nid: ${sequence}\n\n`,
    beat: 'event: heartbeat\ndata: \n\n',
    tail: () => '',
    waits: 'always',
  },
}

/** The rows of a batch in one text. */
export function renderRows(
  form: FeedForm,
  rows: readonly ChangeRow[],
  { hasDocs, uuid, isFirst }: Pick<ChangesQuery, 'hasDocs'> & { readonly uuid: string; readonly isFirst: boolean },
): string {
  return rows
    .map((row, index) =>
      form.row(renderRow(row, hasDocs, uuid), toSequenceText(row.sequence, uuid), isFirst && index === 0),
    )
    .join('')
}

function renderRow({ sequence, leaf }: ChangeRow, hasDocs: boolean, uuid: string): string {
  const { id, revision, isDeleted } = leaf
  const parts = [
    `"seq":${renderSequence(sequence, uuid)}`,
    `"id":${JSON.stringify(id)}`,
    `"changes":[{"rev":"${revision}"}]`,
    ...(isDeleted ? ['"deleted":true'] : []),
    ...(hasDocs ? [`"doc":${renderLeaf(leaf)}`] : []),
  ]
  return `{${parts.join(',')}}`
}
