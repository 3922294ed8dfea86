import { Refusal } from '../../base/errors.ts'
import type { Reply, RequestContext, Route } from '../../http/request-context.ts'
import { requireSuperuser } from './rights.ts'
import { toWrappedReply } from './wire.ts'

/** Digests of the secrets in force, never the secrets. */
export interface SecretsDescription {
  readonly active: { readonly sha256: string }
  readonly passive: readonly { readonly sha256: string }[]
}

export type SecretsReload =
  | { readonly kind: 'reloaded' }
  /** The old ones stay in force. */
  | { readonly kind: 'kept'; readonly errorNum: number; readonly reason: string }

export interface Secrets {
  describe(): SecretsDescription
  /** Reads the files anew whose places were given at start. */
  reload(): Promise<SecretsReload>
}

/** The secrets that sign and verify tokens: for superuser tokens alone, whatever else is required or not. */
export const secretsRoutes = (secrets: Secrets): readonly Route[] => [
  {
    path: '/_admin/server/jwt',
    methods: { GET: (context) => show(secrets, context), POST: (context) => reload(secrets, context) },
  },
]

function show(secrets: Secrets, context: RequestContext): Reply {
  requireSuperuser(context)
  return toWrappedReply(secrets.describe())
}

async function reload(secrets: Secrets, context: RequestContext): Promise<Reply> {
  requireSuperuser(context)
  const outcome = await secrets.reload()
  if (outcome.kind === 'reloaded') return toWrappedReply(secrets.describe())
  const code = outcome.errorNum === CANNOT_READ ? 'secret_unreadable' : 'bad_request'
  throw new Refusal(code, { about: outcome.reason })
}

const CANNOT_READ = 34
