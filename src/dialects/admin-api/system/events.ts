import type { ConfirmCredential, Route } from '../../../http/request-context.ts'
import { API_PREFIX } from '../../own-paths.ts'
import { requireRight } from '../rights.ts'
import type { LiveEvents } from './live-events.ts'

export interface EventsDeps {
  readonly live: LiveEvents
  userAdminRole(): string
  /** Rejects if the credential of the request is no longer accepted. Left out where it cannot be revoked. */
  readonly confirmCredential?: ConfirmCredential
}

/** A stream of server-sent events, for administrators. It ends with the session or the rights of the client. */
export const eventsRoute = ({ live, userAdminRole, confirmCredential }: EventsDeps): Route => ({
  path: `${API_PREFIX}/events`,
  methods: {
    GET: (context) => {
      requireRight(context, { allowed: 'administrator' }, userAdminRole())
      const body = live.open({
        confirm: async () => confirmCredential?.(context),
        onGone: (listener) => context.onGone(listener),
      })
      // a proxy that gathers the response would keep the events back
      return {
        status: 200,
        headers: [
          ['Content-Type', 'text/event-stream'],
          ['X-Accel-Buffering', 'no'],
        ],
        body,
      }
    },
  },
})
