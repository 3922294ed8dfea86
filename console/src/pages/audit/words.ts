// The parts of a sentence that say who did it, where and how.
// not from the client of the API, which needs a browser
import type { AuditRecordView } from '../../../../src/dialects/admin-api/schemas/system.ts'
import { shared } from '../../texts.ts'
import { texts } from './texts.ts'

/** Only the owner of the server reaches the control socket, and only with the command line. */
const isCommand = ({ handler }: AuditRecordView): boolean => handler === 'socket'

/** `undefined`: the sentence says so already. */
export function describeActor({ actor, subject }: AuditRecordView, template: string): string | undefined {
  if (actor === undefined || actor === subject || template.includes('{actor}')) return undefined
  const { actors } = texts
  // a user may have the name of a method that every object has
  return Object.hasOwn(actors, actor) ? actors[actor] : actor
}

export function listCircumstances(record: AuditRecordView): string {
  const { door, handler, peer, count } = record
  const isByCommand = isCommand(record)
  const words = [
    !isByCommand && door !== undefined && texts.at(shared.doors[door] ?? door),
    !isByCommand && handler !== undefined && texts.with(texts.handlers[handler] ?? handler),
    peer !== undefined && texts.from(peer),
  ].filter((each) => each !== false)
  const said = `${isByCommand ? texts.withCommand : ''}${words.map((each) => ` ${each}`).join('')}`
  return count === undefined ? said : `${said}${texts.times(count)}`
}
