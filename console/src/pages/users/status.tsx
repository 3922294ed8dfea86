import type { User, UserDetails } from '../../api/types.ts'
import { texts } from '../../texts.ts'
import { Badge, type Tone } from '../../ui/parts.tsx'

interface Status {
  readonly text: string
  readonly tone?: Tone
}

const isExpired = ({ expires }: User): boolean => expires !== undefined && Date.parse(expires) <= Date.now()

/** What keeps a user from signing in, or needs attention. */
function listStatuses(user: User & Partial<Pick<UserDetails, 'lockout'>>): readonly Status[] {
  const found: Status[] = []
  if (!user.active) found.push({ text: texts.users.disabled, tone: 'danger' })
  if (isExpired(user)) found.push({ text: texts.users.expired, tone: 'danger' })
  if (user.lockout) found.push({ text: texts.users.locked, tone: 'warning' })
  if (user.password === null) found.push({ text: texts.users.noPassword, tone: 'warning' })
  if (user.mustChangePassword) found.push({ text: texts.users.mustChange, tone: 'warning' })
  return found.length > 0 ? found : [{ text: texts.users.active }]
}

export const UserStatus = ({ user }: { readonly user: User & Partial<Pick<UserDetails, 'lockout'>> }) => (
  <span class="chips">
    {listStatuses(user).map(({ text, tone }) => (
      <Badge key={text} tone={tone}>
        {text}
      </Badge>
    ))}
  </span>
)
