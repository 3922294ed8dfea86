import type { User } from '../../api/client.ts'
import { texts } from '../../texts.ts'
import { Badge, type Tone } from '../../ui/parts.tsx'

interface Status {
  readonly text: string
  readonly tone?: Tone
}

const isExpired = ({ expires }: User): boolean => expires !== undefined && Date.parse(expires) <= Date.now()

/** What keeps a user from signing in, or needs attention. */
function listStatuses(user: User): readonly Status[] {
  const found: Status[] = []
  if (!user.active) found.push({ text: texts.users.disabled, tone: 'danger' })
  if (isExpired(user)) found.push({ text: texts.users.expired, tone: 'danger' })
  if (user.isLocked) found.push({ text: texts.users.locked, tone: 'warning' })
  if (user.password === null) found.push({ text: texts.users.noPassword, tone: 'warning' })
  if (user.mustChangePassword) found.push({ text: texts.users.mustChange, tone: 'warning' })
  return found
}

/** Only what differs from an active user is a badge. */
export function UserStatus({ user }: { readonly user: User }) {
  const statuses = listStatuses(user)
  if (statuses.length === 0) return <span class="quiet">{texts.users.active}</span>
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
