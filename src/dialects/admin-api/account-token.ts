/**
 * Sessions without a cookie, at both doors: a short token, and a renewal token that is replaced at each use. For pages of
 * other sites, which must be trusted by the door, and for mobile apps.
 */
import { listActionHeaders } from '../../auth/required-actions.ts'
import type { RenewableSessions, TokenPair } from '../../auth/session/renewable-session.ts'
import type { Handler, Reply, RequestContext, Route } from '../../http/request-context.ts'
import { ACCOUNT_PREFIX } from '../own-paths.ts'
import { CREDENTIALS, MAX_SIGN_IN_BYTES, OPEN, requireTrusted, showIdentity } from './account-sign-in.ts'
import { readJsonBody, requireValid, toJsonReply } from './json.ts'
import { object, type Schema, text } from './schemas/schema.ts'

const RENEWAL = object({ renewalToken: text() })

/** `origins`: those of other sites whose pages may use it. */
export function accountTokenRoutes(sessions: RenewableSessions, origins: () => readonly string[]): readonly Route[] {
  const accept =
    <T>(schema: Schema<T>, run: (given: T, context: RequestContext) => Promise<Reply>): Handler =>
    async (context) => {
      requireTrusted(context, origins())
      return run(requireValid(schema, await readJsonBody(context, MAX_SIGN_IN_BYTES)), context)
    }
  const signIn = accept(CREDENTIALS, async ({ code = '', ...given }, context) =>
    toReply(await sessions.open({ ...given, code }, context)),
  )
  const renew = accept(RENEWAL, async ({ renewalToken }) => toReply(await sessions.renew(renewalToken)))
  const signOut = accept(RENEWAL, async ({ renewalToken }) => {
    await sessions.end(renewalToken)
    return toJsonReply(200, { name: null })
  })
  return [
    { path: `${ACCOUNT_PREFIX}/token`, right: OPEN, methods: { POST: signIn, DELETE: signOut } },
    { path: `${ACCOUNT_PREFIX}/token/renew`, right: OPEN, methods: { POST: renew } },
  ]
}

const toReply = ({ account, ...tokens }: TokenPair): Reply =>
  toJsonReply(200, { ...tokens, ...showIdentity(account) }, listActionHeaders(account))
