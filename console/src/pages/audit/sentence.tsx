import { type ComponentChildren, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { AuditEventKind, AuditRecord } from '../../api/client.ts'
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
      <Actor record={record} template={template} />
      {listCircumstances(record)}
      {record.reason !== undefined && <span class="quiet">: {toPhrase(record.reason)}</span>}
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

const LEVELS: Readonly<Record<string, string>> = texts.users.levels

const toText = (value: unknown): string =>
  Array.isArray(value) ? value.join(', ') : (LEVELS[String(value)] ?? String(value ?? ''))

/** "The account is locked." after a colon: "the account is locked". */
const toPhrase = (reason: string): string =>
  reason.replace(/^[A-Z](?=[a-z]* )/, (first) => first.toLowerCase()).replace(/\.$/, '')

/** Who did it, unless the sentence says so already. */
function Actor({ record: { actor, subject }, template }: { readonly record: AuditRecord; readonly template: string }) {
  if (actor === undefined || actor === subject || template.includes('{actor}')) return null
  return (
    <>
      {' '}
      {texts.audit.by} <strong>{actor}</strong>
    </>
  )
}

/** Where and how. */
function listCircumstances({ door, handler, peer, count }: AuditRecord): string {
  const { audit, doors } = texts
  const words = [
    door !== undefined && audit.at(doors[door] ?? door),
    handler !== undefined && audit.with(audit.handlers[handler] ?? handler),
    peer !== undefined && audit.from(peer),
  ].filter((each) => each !== false)
  return `${words.map((each) => ` ${each}`).join('')}${count === undefined ? '' : audit.times(count)}`
}
