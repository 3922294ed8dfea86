// What an import will do, before it is done: a trial at the server, and a comparison with the users that exist.
import { api, toPath } from '../../api/client.ts'
import type { UserDetails } from '../../api/types.ts'
import { texts } from '../../texts.ts'
import { withPassword } from '../../ui/password-proof.tsx'
import type { PlainUser, ReadFile } from './transfer-file.ts'

export type Kind = 'created' | 'replaced' | 'changed' | 'kept' | 'refused'

interface Outcome {
  readonly kind: Exclude<Kind, 'changed'>
  readonly reason?: string
}

export interface Step {
  readonly name: string
  readonly kind: Kind
  /** What changes, or why it is refused. */
  readonly notes: readonly string[]
  /** To be imported. */
  readonly user?: unknown
  /** The changes of a user that exists. */
  readonly changes?: readonly Change[]
}

interface Change {
  readonly note: string
  readonly path: string
  readonly body: object
}

export interface ImportRules {
  /** Whether users that exist are changed. */
  readonly replaces: boolean
  readonly isTrial?: boolean
}

export async function sendUsers(users: readonly unknown[], { replaces, isTrial = false }: ImportRules) {
  const body = { users, replace: replaces, trial: isTrial }
  const { outcomes } = await withPassword((proof) =>
    api.post<{ readonly outcomes: readonly Outcome[] }>('/transfer/users', { ...body, ...proof }),
  )
  return outcomes
}

/** The most users that a preview looks at. All users of an export are imported, and all of a plain list are looked at. */
export const MAX_PREVIEW = 1000

const nameOf = (user: unknown): string => String((user as { readonly name?: unknown } | null)?.name ?? '')

const toStep = (user: unknown, outcome: Outcome | undefined): Step => ({
  name: nameOf(user),
  kind: outcome?.kind ?? 'refused',
  notes: outcome?.reason === undefined ? [] : [outcome.reason],
  user,
})

export async function planImport({ users, plain }: ReadFile, replaces: boolean): Promise<readonly Step[]> {
  if (plain.length === 0) return tryUsers(users.slice(0, MAX_PREVIEW), replaces)
  const steps: Step[] = []
  for (let at = 0; at < plain.length; at += MAX_PREVIEW) {
    const some = plain.slice(at, at + MAX_PREVIEW)
    const tried = await tryUsers(some.map(toDraft), false)
    for (const [index, step] of tried.entries())
      steps.push(await describeStep(step, some[index] as PlainUser, replaces))
  }
  return steps
}

/** A created user is shown with all that it gets, and one that exists with what changes. */
async function describeStep(step: Step, given: PlainUser, replaces: boolean): Promise<Step> {
  if (step.kind === 'kept' && replaces) return compare(given)
  return step.kind === 'created' ? { ...step, notes: describeNew(given) } : step
}

function describeNew({ roles = [], grants = [], expires, active }: PlainUser): readonly string[] {
  const { change } = texts.transfer
  return [
    ...(roles.length > 0 ? [change.roles([], roles)] : []),
    ...grants.map(({ database, level }) => change.grant(database, undefined, level)),
    ...(expires === undefined ? [] : [change.expires(undefined, expires)]),
    ...(active === false ? [change.active(false)] : []),
  ]
}

async function tryUsers(users: readonly unknown[], replaces: boolean): Promise<readonly Step[]> {
  const outcomes = await sendUsers(users, { replaces, isTrial: true })
  return users.map((user, at) => toStep(user, outcomes[at]))
}

/** As the API imports a user. A password that is in a file must be changed, unless the file says otherwise. */
const toDraft = ({ name, password, mustChangePassword = true, roles, grants, expires, active }: PlainUser) => ({
  name,
  ...(password !== undefined && { password: { clear: password }, mustChangePassword }),
  ...(roles && { roles }),
  ...(grants && { grants: Object.fromEntries(grants.map(({ database, level }) => [database, { level }])) }),
  ...(expires !== undefined && { expiresAt: Math.floor(Date.parse(expires) / 1000) }),
  ...(active !== undefined && { active }),
})

async function compare(given: PlainUser): Promise<Step> {
  const { name } = given
  const changes = listChanges(given, await api.get<UserDetails>(toPath('users', name)))
  const kind = changes.length > 0 ? 'changed' : 'kept'
  return { name, kind, notes: changes.map(({ note }) => note), changes }
}

function listChanges(given: PlainUser, user: UserDetails): readonly Change[] {
  const { password, mustChangePassword = true, roles, grants = [], expires, active } = given
  const { change } = texts.transfer
  const to = (path: string, note: string, body: object): Change => ({
    note,
    path: toPath('users', user.name, path),
    body,
  })
  const isSame = (one: readonly string[], other: readonly string[]) =>
    one.toSorted().join('\n') === other.toSorted().join('\n')
  const granted = grants.filter(({ database, level }) => user.grants[database]?.level !== level)
  return [
    ...(roles && !isSame(roles, user.roles) ? [to('roles', change.roles(user.roles, roles), { roles })] : []),
    ...granted.map((grant) =>
      to('grants', change.grant(grant.database, user.grants[grant.database]?.level, grant.level), grant),
    ),
    ...(expires !== undefined && Date.parse(expires) !== Date.parse(user.expires ?? '')
      ? [to('expiry', change.expires(user.expires, expires), { expires })]
      : []),
    ...(active !== undefined && active !== user.active ? [to('active', change.active(active), { active })] : []),
    ...(password === undefined ? [] : [to('password', change.password, { password, mustChangePassword })]),
  ]
}

/** Makes the changes of one user that exists. */
export async function applyChanges({ name, changes = [] }: Step): Promise<Step> {
  try {
    for (const { path, body } of changes) await withPassword((proof) => api.put(path, { ...body, ...proof }))
    return { name, kind: 'changed', notes: [] }
  } catch (error) {
    return { name, kind: 'refused', notes: [error instanceof Error ? error.message : texts.errors.unknown] }
  }
}

/** Some users at a time, so that the progress is seen. Passwords in clear take longer. */
const BATCH = 500
const CLEAR_BATCH = 25

/** Imports all users of the file. Yields what became of some of them. */
export async function* runImport(
  file: ReadFile,
  plan: readonly Step[],
  replaces: boolean,
): AsyncGenerator<readonly Step[]> {
  const isPlain = file.plain.length > 0
  const users = isPlain ? plan.filter(({ kind }) => kind === 'created').map(({ user }) => user) : file.users
  const size = isPlain ? CLEAR_BATCH : BATCH
  for (let at = 0; at < users.length; at += size) {
    const some = users.slice(at, at + size)
    const outcomes = await sendUsers(some, { replaces: replaces && !isPlain })
    yield some.map((user, index) => toStep(user, outcomes[index]))
  }
  if (!isPlain) return
  yield plan.filter(({ kind }) => kind === 'kept' || kind === 'refused')
  for (const step of plan.filter(({ kind }) => kind === 'changed')) yield [await applyChanges(step)]
}
