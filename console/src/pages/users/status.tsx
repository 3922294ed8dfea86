import type { ListedUserView } from '../../api/client.ts'
import { shared } from '../../texts.ts'
import { Badge, type Tone } from '../../ui/parts.tsx'
import { texts } from './texts.ts'

interface Status {
  readonly text: string
  readonly tone?: Tone
}

const isExpired = ({ expires }: ListedUserView): boolean => expires !== undefined && Date.parse(expires) <= Date.now()

/** What keeps a user from signing in, or needs attention. */
function listStatuses(user: ListedUserView): readonly Status[] {
  const found: Status[] = []
  if (!user.active) found.push({ text: texts.disabled, tone: 'danger' })
  if (isExpired(user)) found.push({ text: texts.expired, tone: 'danger' })
  if (user.isLocked) found.push({ text: texts.locked, tone: 'warning' })
  if (user.password === null) found.push({ text: shared.users.noPassword, tone: 'warning' })
  if (user.mustChangePassword) found.push({ text: texts.mustChange, tone: 'warning' })
  return found
}

/** Only what differs from an active user is a badge. */
export function UserStatus({ user }: { readonly user: ListedUserView }) {
  const statuses = listStatuses(user)
  if (statuses.length === 0) return <span class="quiet">{shared.users.active}</span>
  return (
    <span class="chips">
      {statuses.map(({ text, tone }) => (
        <Badge key={text} tone={tone}>
          {text}
        </Badge>
      ))}
    </span>
  )
}
