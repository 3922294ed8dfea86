// The parts of a sentence that say who did it, where and how.
// not from the client of the API, which needs a browser
import type { AuditRecord } from '../../../../src/dialects/admin-api/schemas/system.ts'
import { texts } from '../../texts.ts'

/** Only the owner of the server reaches the control socket, and only with the command line. */
const isCommand = ({ handler }: AuditRecord): boolean => handler === 'socket'

/** `undefined`: the sentence says so already. */
export function describeActor({ actor, subject }: AuditRecord, template: string): string | undefined {
  if (actor === undefined || actor === subject || template.includes('{actor}')) return undefined
  const { actors } = texts.audit
  // a user may have the name of a method that every object has
  return Object.hasOwn(actors, actor) ? actors[actor] : actor
}

export function listCircumstances(record: AuditRecord): string {
  const { door, handler, peer, count } = record
  const { audit, doors } = texts
  if (isCommand(record)) return audit.withCommand
  const words = [
    door !== undefined && audit.at(doors[door] ?? door),
    handler !== undefined && audit.with(audit.handlers[handler] ?? handler),
    peer !== undefined && audit.from(peer),
  ].filter((each) => each !== false)
  return `${words.map((each) => ` ${each}`).join('')}${count === undefined ? '' : audit.times(count)}`
}
