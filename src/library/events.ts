import { SECURITY_EVENTS } from '../modules.ts'
import type { EventFields, EventKind } from '../observe/security-event-table.ts'
import type { SecurityRecord } from '../observe/security-record.ts'
import type { App } from '../wiring/app.ts'

/** One security event, as the audit trail and the log have it. */
export interface CardeaEvent<K extends EventKind = EventKind> extends Pick<SecurityRecord, 'outcome' | 'node'> {
  readonly event: K
  readonly time: Date
  readonly fields: EventFields<K>
}

/** The security events of this process; other nodes have their own. */
export interface Events {
  /**
   * Calls the listener after each event of this kind. What it throws or rejects with is logged. Returns a function that
   * removes the listener.
   */
  on<K extends EventKind>(event: K, listener: (event: CardeaEvent<K>) => unknown): () => void
}

export const createEvents = (app: App): Events => ({
  on(event, listener) {
    if (!Object.hasOwn(SECURITY_EVENTS, event))
      throw new TypeError(`There is no security event ${JSON.stringify(event)}`)
    if (typeof listener !== 'function') throw new TypeError('events.on takes a function: events.on(event, listener)')
    return app.onEvent((record) => {
      if (record.event !== event) return
      // the fields are those of the row of this event
      const fields = record.fields as EventFields<typeof event>
      const given = { ...record, event, time: new Date(record.time), fields }
      const notify = async () => listener(given)
      notify().catch((error) => app.log.error('a listener failed', { event, error }))
    })
  },
})
