/** How each kind of `_changes` feed is rendered. */
import type { HeaderPair } from '../../../http/request-context.ts'
import { JSON_HEADERS } from '../body.ts'
import type { ChangeRow } from './changes-cursor.ts'
import type { FeedKind } from './changes-query.ts'
import { renderDocument } from './document.ts'
import { renderSequence, toSequenceText } from './user-changes.ts'

export interface FeedFormat {
  readonly headers: readonly HeaderPair[]
  readonly head: string
  renderRow(json: string, sequence: string, isFirst: boolean): string
  readonly heartbeat: string
  renderTail(lastSequence: string, pending: number): string
  /** Whether the feed waits for changes. `once`: it ends with the first. */
  readonly waits: 'never' | 'once' | 'always'
}

const LIST = {
  headers: JSON_HEADERS,
  head: '{"results":[\n',
  renderRow: (json: string, _sequence: string, isFirst: boolean) => `${isFirst ? '' : ',\n'}${json}`,
  heartbeat: '\n',
  renderTail: (lastSequence: string, pending: number) => `\n],\n"last_seq":${lastSequence},"pending":${pending}}\n`,
}

export const FEED_FORMATS: Readonly<Record<FeedKind, FeedFormat>> = {
  normal: { ...LIST, waits: 'never' },
  longpoll: { ...LIST, waits: 'once' },
  continuous: {
    headers: JSON_HEADERS,
    head: '',
    renderRow: (json) => `${json}\n`,
    heartbeat: '\n',
    renderTail: (lastSequence, pending) => `{"last_seq":${lastSequence},"pending":${pending}}\n`,
    waits: 'always',
  },
  eventsource: {
    headers: [
      ['Cache-Control', 'no-cache'],
      ['Content-Type', 'text/event-stream'],
    ],
    head: '',
    renderRow: (json, sequence) => `data: ${json}\nid: ${sequence}\n\n`,
    heartbeat: 'event: heartbeat\ndata: \n\n',
    renderTail: () => '',
    waits: 'always',
  },
}

export interface RowOptions {
  readonly hasDocs: boolean
  readonly uuid: string
  /** Whether the first of the rows is the first of the feed. */
  readonly isFirst: boolean
}

export const renderRows = (format: FeedFormat, rows: readonly ChangeRow[], options: RowOptions): string =>
  rows
    .map((row, index) => {
      const sequence = toSequenceText(row.sequence, options.uuid)
      return format.renderRow(renderRow(row, options), sequence, options.isFirst && index === 0)
    })
    .join('')

function renderRow({ sequence, document }: ChangeRow, { hasDocs, uuid }: RowOptions): string {
  const { id, revision, isDeleted } = document
  const parts = [
    `"seq":${renderSequence(sequence, uuid)}`,
    `"id":${JSON.stringify(id)}`,
    `"changes":[{"rev":"${revision}"}]`,
    ...(isDeleted ? ['"deleted":true'] : []),
    ...(hasDocs ? [`"doc":${renderDocument(document)}`] : []),
  ]
  return `{${parts.join(',')}}`
}
