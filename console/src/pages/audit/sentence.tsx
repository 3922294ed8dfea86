import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { AuditEventKind, AuditRecord } from '../../api/types.ts'
import { texts } from '../../texts.ts'

/** The kinds of events, as the server describes them. */
export const EventKinds = createContext<readonly AuditEventKind[]>([])

/** A record as a sentence: "**ada** signed in at the document door with a cookie from 10.0.0.7". */
export function Sentence({ record }: { readonly record: AuditRecord }) {
  const kind = useContext(EventKinds).find(({ event }) => event === record.event)
  const template = kind?.story ?? record.event
  return (
    <>
      {fill(template, record)}
      {listCircumstances(record, template)}
      {record.reason !== undefined && <span class="quiet">: {record.reason}</span>}
    </>
  )
}

/** Replaces `{field}` by the value of that field. */
function fill(template: string, record: AuditRecord): ComponentChildren {
  return template.split(/(\{\w+\})/).map((piece) => {
    const name = /^\{(\w+)\}$/.exec(piece)?.[1]
    return name === undefined ? (
      piece
    ) : (
      <strong key={name}>
        {toText(record[name]) || (name === 'subject' ? texts.audit.unnamed : texts.audit.nothing)}
      </strong>
    )
  })
}

const toText = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value ?? ''))

/** Who did it, where and how, unless the sentence says so already. */
function listCircumstances({ actor, subject, door, handler, peer, count }: AuditRecord, template: string): string {
  const { audit, doors } = texts
  return [
    actor !== undefined && actor !== subject && !template.includes('{actor}') && audit.by(actor),
    door !== undefined && audit.at(doors[door] ?? door),
    handler !== undefined && audit.with(audit.handlers[handler] ?? handler),
    peer !== undefined && audit.from(peer),
    count !== undefined && audit.times(count),
  ]
    .filter((words) => words !== false)
    .map((words) => ` ${words}`)
    .join('')
}
