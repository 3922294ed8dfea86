// Read-only mode, where no upstream has one of its own. As in the database, it ends with the process.
import { Refusal } from '../../base/errors.ts'
import { findMember } from '../../base/json.ts'
import type { GrantLevel } from '../../directory/user.ts'
import type { Reply, RequestContext, Route } from '../../http/request-context.ts'
import { readBody } from './body.ts'
import { requireManager } from './rights.ts'
import { toMergedReply } from './wire.ts'

const MODES = ['default', 'readonly'] as const
export type Mode = (typeof MODES)[number]

export interface ServerMode {
  get(): Mode
  set(mode: Mode): void
}

export function createServerMode(): ServerMode {
  let mode: Mode = 'default'
  return {
    get: () => mode,
    set: (next) => {
      mode = next
    },
  }
}

/** What a level comes to in this mode. Who administers the server is decided by the configured level. */
export const capLevel = (level: GrantLevel, mode: Mode): GrantLevel =>
  mode === 'readonly' && level === 'rw' ? 'ro' : level

export const modeRoute = (mode: ServerMode): Route => ({
  path: '/_admin/server/mode',
  methods: { GET: () => showMode(mode), PUT: (context) => setMode(mode, context) },
})

const showMode = (mode: ServerMode): Reply => toMergedReply(200, { mode: mode.get() })

async function setMode(mode: ServerMode, context: RequestContext): Promise<Reply> {
  requireManager(context)
  const body = await readBody(context)
  if (body.kind === 'not json') throw new Refusal('bad_parameter', { about: 'invalid JSON' })
  if (body.kind !== 'object') throw new Refusal('bad_parameter', { about: 'body must be an object' })
  const asked = findMember(body.members, 'mode')
  if (typeof asked !== 'string') throw new Refusal('bad_parameter', { about: 'mode must be a string' })
  const next = MODES.find((candidate) => candidate === asked)
  if (next === undefined) throw new Refusal('bad_parameter', { about: 'mode invalid' })
  mode.set(next)
  return showMode(mode)
}
