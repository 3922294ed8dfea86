// Read-only mode, where there is no upstream. As in the database, it ends with the process.
import { Refusal } from '../../base/errors.ts'
import { findMember } from '../../base/json.ts'
import { createLive, type LiveCell } from '../../base/live.ts'
import type { GrantLevel } from '../../directory/users/user.ts'
import type { Reply, RequestContext } from '../../http/request-context.ts'
import { requireManager } from './access.ts'
import { readBody } from './body.ts'
import { toMergedReply } from './reply.ts'
import { MULTI_MODEL_RIGHTS, type MultiModelRoute } from './rights.ts'
import type { ManagerSettings } from './settings.ts'

const MODES = ['default', 'readonly'] as const
export type Mode = (typeof MODES)[number]

export type ServerMode = LiveCell<Mode>

export const createServerMode = (): ServerMode => createLive<Mode>('default')

/** The effective level in this mode. Who manages the server is decided by the configured level instead. */
export const capLevel = (level: GrantLevel, mode: Mode): GrantLevel =>
  mode === 'readonly' && level === 'rw' ? 'ro' : level

export const modeRoute = (mode: ServerMode, settings: () => ManagerSettings): MultiModelRoute => ({
  path: '/_admin/server/mode',
  right: MULTI_MODEL_RIGHTS.server,
  methods: { GET: () => showMode(mode), PUT: (context) => setMode(mode, context, settings()) },
})

const showMode = (mode: ServerMode): Reply => toMergedReply(200, { mode: mode.get() })

async function setMode(mode: ServerMode, context: RequestContext, settings: ManagerSettings): Promise<Reply> {
  requireManager(context, settings)
  const body = await readBody(context)
  if (body.kind === 'not json') throw invalid('invalid JSON')
  if (body.kind !== 'object') throw invalid('body must be an object')
  const asked = findMember(body.members, 'mode')
  if (typeof asked !== 'string') throw invalid('mode must be a string')
  const next = MODES.find((candidate) => candidate === asked)
  if (next === undefined) throw invalid('mode invalid')
  mode.set(next)
  return showMode(mode)
}

const invalid = (reason: string): Refusal => new Refusal('bad_parameter', { reason })
