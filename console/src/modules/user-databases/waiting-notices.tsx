import type { UserDatabasesView } from '../../../../src/modules/user-databases/schemas.ts'
import { api } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { texts } from './texts.ts'

/** `cardea databases create-missing` prints all of them. */
const MAX_NOTICES = 5

/** How far the creation of databases for users is. Nothing if there is nothing to say. */
export function WaitingNotices() {
  const path = '/databases/of-users'
  const { data } = useResource(path, (signal) => api.get<UserDatabasesView>(path, {}, signal), { keepsLast: true })
  if (!data) return null
  const { waiting, problem, refused } = data
  const notices = [
    ...(waiting > 0 ? [texts.waiting(waiting, problem)] : []),
    ...refused.map(({ database, user, reason = '' }) => texts.refused(database, user, reason)),
  ]
  return (
    <>
      {notices.slice(0, MAX_NOTICES).map((notice) => (
        <p key={notice} class="notice warning" role="status">
          {notice}
        </p>
      ))}
    </>
  )
}
