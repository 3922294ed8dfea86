// What an import will do, before it is done: a trial at the server, and a comparison with the users that exist.
import { GIVEN_FIELDS } from '../../../../src/directory/users/fields.ts'
import { type PlainUser, toDraftMembers } from '../../../../src/transfer/plain-list.ts'
import { api, type ListedUserView, toMessage, toPath } from '../../api/client.ts'
import { shared } from '../../texts.ts'
import { withPassword } from '../../ui/password-proof.tsx'
import { texts } from './texts.ts'
import type { ReadFile } from './transfer-file.ts'

export type Kind = 'created' | 'replaced' | 'changed' | 'kept' | 'refused'

interface Outcome {
  readonly kind: Exclude<Kind, 'changed'>
  readonly reason?: string
  /** The user that exists, in a trial that keeps it. */
  readonly user?: ExistingUser
}

type ExistingUser = Pick<ListedUserView, 'name' | 'roles' | 'grants'> & Readonly<Record<string, unknown>>

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

interface ImportRules {
  /** Whether users that exist are changed. */
  readonly replaces: boolean
  readonly isTrial?: boolean
  readonly signal?: AbortSignal
}

async function sendUsers(users: readonly unknown[], { replaces, isTrial = false, signal }: ImportRules) {
  const body = { users, replace: replaces, trial: isTrial }
  const { outcomes } = await withPassword((proof) =>
    api.post<{ readonly outcomes: readonly Outcome[] }>('/transfer/users', { ...body, ...proof }, signal),
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

interface PlanRules {
  readonly replaces: boolean
  readonly signal: AbortSignal
  /** Called with the number of users that were looked at. */
  readonly onProgress: (done: number) => void
}

export async function planImport({ users, plain }: ReadFile, rules: PlanRules): Promise<readonly Step[]> {
  const { replaces, signal, onProgress } = rules
  if (plain.length === 0) {
    const some = users.slice(0, MAX_PREVIEW)
    const outcomes = await sendUsers(some, { replaces, isTrial: true, signal })
    return some.map((user, at) => toStep(user, outcomes[at]))
  }
  const steps: Step[] = []
  for (let at = 0; at < plain.length; at += MAX_PREVIEW) {
    onProgress(at)
    const some = plain.slice(at, at + MAX_PREVIEW)
    const outcomes = await sendUsers(some.map(toDraftMembers), { replaces: false, isTrial: true, signal })
    steps.push(...some.map((given, index) => describeStep(given, outcomes[index], replaces)))
  }
  return steps
}

/** A created user is shown with all that it gets, and one that exists with what changes. */
function describeStep(given: PlainUser, outcome: Outcome | undefined, replaces: boolean): Step {
  if (outcome?.user && replaces) return compare(given, outcome.user)
  const step = toStep(toDraftMembers(given), outcome)
  return step.kind === 'created' ? { ...step, notes: describeNew(given) } : step
}

function describeNew({
  password: _,
  mustChangePassword: __,
  roles = [],
  grants = [],
  ...others
}: PlainUser): readonly string[] {
  const { change } = texts.transfer
  return [
    ...(roles.length > 0 ? [change.roles([], roles)] : []),
    ...grants.map(({ database, level }) => change.grant(database, undefined, level)),
    ...listFields(others, {}).map(({ note }) => note),
  ]
}

function compare(given: PlainUser, user: ExistingUser): Step {
  const { name } = given
  const changes = listChanges(given, user)
  const kind = changes.length > 0 ? 'changed' : 'kept'
  return { name, kind, notes: changes.map(({ note }) => note), changes }
}

function listChanges(given: PlainUser, user: ExistingUser): readonly Change[] {
  const { password, mustChangePassword = true, roles, grants = [], ...others } = given
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
    ...listFields(others, user).map(({ path, note, body }) => to(path, note, body)),
    ...(password === undefined ? [] : [to('password', change.password, { password, mustChangePassword })]),
  ]
}

type Values = Readonly<Record<string, unknown>>

/** The fields with an operation of their own whose value differs from that of the user. */
const listFields = (given: Values, user: Values): readonly Change[] =>
  Object.entries(given).flatMap(([member, value]) => {
    const { set, type, empty } = GIVEN_FIELDS.get(member) ?? {}
    const before = user[member] ?? empty ?? (type === 'time' ? shared.time.never : false)
    const isSame = type === 'time' ? Date.parse(String(value)) === Date.parse(String(before)) : value === before
    if (!set || isSame) return []
    return [
      {
        path: set.path,
        note: texts.transfer.change.field(member, before, value),
        body: { [set.member.replace('?', '')]: value },
      },
    ]
  })

/** Makes the changes of one user that exists. */
async function applyChanges({ name, changes = [] }: Step): Promise<Step> {
  try {
    for (const { path, body } of changes) await withPassword((proof) => api.put(path, { ...body, ...proof }))
    return { name, kind: 'changed', notes: [] }
  } catch (error) {
    return { name, kind: 'refused', notes: [toMessage(error)] }
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
