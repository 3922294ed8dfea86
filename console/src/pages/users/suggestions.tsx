import { api } from '../../api/client.ts'
import type { UserPage } from '../../api/types.ts'
import { useResource } from '../../api/use-resource.ts'
import { readNames } from '../../ui/name-field.tsx'
import { useDebounced } from '../../ui/use-debounced.ts'

interface SuggestionsProps {
  /** The `list` of the field. */
  readonly id: string
  readonly of: 'roles' | 'databases'
  readonly typed: string
}

const MAX_USERS = 200

/** Roles or databases that users have already, for the last word of a field. */
export function Suggestions({ id, of, typed }: SuggestionsProps) {
  const isNew = typed === '' || /[\s,]$/.test(typed)
  const names = readNames(typed)
  const before = isNew ? names : names.slice(0, -1)
  const word = isNew ? '' : (names.at(-1) ?? '')
  // the search finds the beginning of a role
  const search = useDebounced(of === 'roles' ? word : '')
  const load = (signal: AbortSignal) => api.get<UserPage>('/users', { search, limit: MAX_USERS }, signal)
  const { data } = useResource(`${of} ${search}`, load, { keepsLast: true })
  const found = data?.users.flatMap(({ roles, grants }) => (of === 'roles' ? roles : Object.keys(grants))) ?? []
  return (
    <datalist id={id}>
      {[...new Set(found)]
        .filter((name) => name.startsWith(word) && !before.includes(name))
        .toSorted()
        .map((name) => (
          <option key={name} value={[...before, name].join(' ')} />
        ))}
    </datalist>
  )
}
