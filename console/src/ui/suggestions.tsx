import { api, type UserPageView } from '../api/client.ts'
import { useResource } from '../api/use-resource.ts'
import { useDebounced } from './use-debounced.ts'

export interface SuggestionsProps {
  /** The `list` of the field. */
  readonly id: string
  readonly of: 'roles' | 'databases'
  readonly typed: string
  /** What the list has already. */
  readonly without?: readonly string[]
}

const MAX_USERS = 200

/** Roles or databases that users have already. */
export function Suggestions({ id, of, typed, without = [] }: SuggestionsProps) {
  // the search finds the beginning of a role
  const search = useDebounced(of === 'roles' ? typed : '')
  const load = (signal: AbortSignal) => api.get<UserPageView>('/users', { search, limit: MAX_USERS }, signal)
  const { data } = useResource(`${of} ${search}`, load, { keepsLast: true })
  const found = data?.users.flatMap(({ roles, grants }) => (of === 'roles' ? roles : Object.keys(grants))) ?? []
  return (
    <datalist id={id}>
      {[...new Set(found)]
        .filter((name) => name.startsWith(typed) && !without.includes(name))
        .toSorted()
        .map((name) => (
          <option key={name} value={name} />
        ))}
    </datalist>
  )
}
