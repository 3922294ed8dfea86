import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { AuditEventKindView, AuditRecordView } from '../../api/client.ts'
import { shared } from '../../texts.ts'
import { texts } from './texts.ts'
import { describeActor, listCircumstances } from './words.ts'

/** The kinds of events, as the server describes them. */
export const EventKinds = createContext<readonly AuditEventKindView[]>([])

/** A record as a sentence: "**ada** signed in at the document door with a cookie from 10.0.0.7". */
export function Sentence({ record }: { readonly record: AuditRecordView }) {
  const kind = useContext(EventKinds).find(({ event }) => event === record.event)
  const template = kind?.story ?? record.event
  return (
    <>
      {fill(template, record)}
      <Actor name={describeActor(record, template)} />
      {listCircumstances(record)}
      {record.reason !== undefined && <span class="quiet">: {toPhrase(record.reason)}</span>}
    </>
  )
}

/** Replaces `{field}` by the value of that field. */
function fill(template: string, record: AuditRecordView): ComponentChildren {
  return template.split(/(\{\w+\})/).map((piece) => {
    const name = /^\{(\w+)\}$/.exec(piece)?.[1]
    return name === undefined ? (
      piece
    ) : (
      <strong key={name}>{toText(record[name]) || (name === 'subject' ? shared.audit.unnamed : texts.nothing)}</strong>
    )
  })
}

const LEVELS: Readonly<Record<string, string>> = shared.users.levels

const toText = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') : (LEVELS[String(value)] ?? String(value ?? ''))

/** "The account is locked." after a colon: "the account is locked". */
const toPhrase = (reason: string): string =>
  reason.replace(/^[A-Z](?=[a-z]* )/, (first) => first.toLowerCase()).replace(/\.$/, '')

function Actor({ name }: { readonly name: string | undefined }) {
  if (name === undefined) return null
  return (
    <>
      {' '}
      {texts.by} <strong>{name}</strong>
    </>
  )
}
