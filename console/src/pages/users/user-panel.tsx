import { api, isNotFound, toPath } from '../../api/client.ts'
import type { Lockout, UserDetails } from '../../api/types.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { openDialog, toHref, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { type Fact, Facts, Section } from '../../ui/parts.tsx'
import { showScheme } from '../../ui/password-scheme.ts'
import { SessionTable, useSessions } from '../../ui/session-table.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Time, toDuration } from '../../ui/time.tsx'
import { AccessSection } from './access-section.tsx'
import { GrantSection } from './grant-section.tsx'
import { RoleSection } from './role-section.tsx'
import { UserStatus } from './status.tsx'
import { CONFIRMED_ACTIONS } from './user-actions.tsx'
import { UserDialog } from './user-dialogs.tsx'

interface UserPanelProps {
  readonly name: string
  readonly back: string
  /** The list has to be loaded again. */
  readonly onChange: () => void
}

export function UserPanel({ name, back, onChange }: UserPanelProps) {
  const { query } = useRoute()
  const user = useResource(name, (signal) => api.get<UserDetails>(toPath('users', name), {}, signal))
  const refresh = () => {
    user.reload()
    onChange()
  }
  useLiveReload((record) => record['subject'] === name, user.reload)
  if (isNotFound(user.error)) return <NoSuchUser name={name} back={back} />
  return (
    <SidePanel title={name} badges={user.data && <UserStatus user={user.data} />} back={back}>
      <Loaded resource={user} what={texts.users.whatOne(name)}>
        {(data) => (
          <>
            <Details user={data} onChange={refresh} />
            {data.canEdit !== false && <UserDialog action={query['do']} user={data} back={back} onChange={refresh} />}
          </>
        )}
      </Loaded>
    </SidePanel>
  )
}

const NoSuchUser = ({ name, back }: Pick<UserPanelProps, 'name' | 'back'>) => (
  <SidePanel title={name} back={back}>
    <Empty title={texts.users.notFound(name)} text={texts.users.notFoundText}>
      <div class="row">
        <ButtonLink href={toHref(['users'])}>{texts.users.showAll}</ButtonLink>
        <ButtonLink href={toHref(['users'], { do: 'add' })}>{texts.users.add}</ButtonLink>
      </div>
    </Empty>
  </SidePanel>
)

interface DetailsProps {
  readonly user: UserDetails
  readonly onChange: () => void
}

function Details({ user, onChange }: DetailsProps) {
  const canEdit = user.canEdit !== false
  const props = { user, canEdit, onChange }
  const base = toPath('users', user.name, 'sessions')
  const sessions = useSessions(base, user.sessions)
  return (
    <>
      {!canEdit && <p class="notice">{texts.users.readOnly}</p>}
      <Facts facts={toFacts(user)} />
      {canEdit && <Actions user={user} />}
      <RoleSection {...props} />
      <GrantSection {...props} />
      <Section title={texts.sessions.title}>
        <SessionTable list={sessions} base={base} canEnd={canEdit} onChange={onChange} />
      </Section>
      <AccessSection user={user} />
    </>
  )
}

const toFacts = (user: UserDetails): readonly Fact[] => [
  [texts.users.lastSignIn, <LastSignIn key="sign-in" signIn={user.lastSignIn} hasPeer />],
  ...(user.lockout ? [[texts.users.lockout, <LockoutText key="lockout" lockout={user.lockout} />] as const] : []),
  [texts.users.expires, user.expires ? <Time at={user.expires} /> : texts.time.never],
  [texts.users.secondFactor, user.totp ? texts.users.totpOn : texts.users.totpOff],
  [texts.users.password, user.password === null ? texts.users.noPassword : showScheme(user.password)],
  [texts.users.tokens, String(user.accessTokens)],
]

function LockoutText({ lockout }: { readonly lockout: Lockout }) {
  const seconds = Math.max((Date.parse(lockout.until) - Date.now()) / 1000, 0)
  return (
    <>
      {texts.users.lockedFrom(lockout)}, <span title={lockout.until}>{texts.users.lockedFor(toDuration(seconds))}</span>
    </>
  )
}

const FORMS = { password: texts.users.setPassword, link: texts.users.createLink, expire: texts.users.setExpiry }

function Actions({ user }: { readonly user: UserDetails }) {
  const { unlock, ...others } = CONFIRMED_ACTIONS
  const offered = Object.entries(others).filter(([, action]) => action.isOffered(user))
  return (
    <div class="row">
      {unlock?.isOffered(user) && (
        <Button kind="primary" onClick={() => openDialog('unlock')}>
          {unlock.short}
        </Button>
      )}
      {Object.entries(FORMS).map(([action, label]) => (
        <Button key={action} onClick={() => openDialog(action)}>
          {label}
        </Button>
      ))}
      {offered.map(([name, action]) => (
        <Button key={name} {...(action.removes && { kind: 'danger' })} onClick={() => openDialog(name)}>
          {action.short}
        </Button>
      ))}
    </div>
  )
}
