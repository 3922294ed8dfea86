import { api, isNotFound, type Lockout, toPath, type UserDetails } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { openDialog, toHref, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { toDuration } from '../../times.ts'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Button, ButtonLink, type Fact, Facts, Section, Time } from '../../ui/parts.tsx'
import { showScheme } from '../../ui/password-scheme.ts'
import { SessionTable, useSessions } from '../../ui/session-table.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { AccessSection } from './access-section.tsx'
import { ExternalSection } from './external-section.tsx'
import { GrantSection, RoleSection } from './rights-section.tsx'
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

function Details({ user, onChange }: Readonly<{ user: UserDetails; onChange: () => void }>) {
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
      <ExternalSection {...props} />
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

/** Forms beside the actions that only need a confirmation, with the labels of their buttons. */
const FORMS = { link: texts.users.passwordLink, password: texts.users.setPassword, expire: texts.users.setExpiry }

/** The first two are buttons, the rest is in a menu. */
const ORDER = ['unlock', 'link', 'disable', 'enable', 'password', 'expire', 'sign-out', 'reset-totp', 'delete'] as const

const MAIN_ACTIONS = 2

function Actions({ user }: { readonly user: UserDetails }) {
  const labels: Readonly<Record<string, string>> = {
    ...FORMS,
    ...Object.fromEntries(
      Object.entries(CONFIRMED_ACTIONS).flatMap(([name, { short, isOffered }]) =>
        isOffered(user) ? [[name, short]] : [],
      ),
    ),
  }
  const offered = ORDER.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]] as const]))
  return (
    <div class="row">
      {offered.slice(0, MAIN_ACTIONS).map(([name, label]) => (
        <Button key={name} {...(name === 'unlock' && { kind: 'primary' })} onClick={() => openDialog(name)}>
          {label}
        </Button>
      ))}
      <Menu label={texts.users.moreActions}>
        {offered.slice(MAIN_ACTIONS).map(([name, label]) => (
          <Button key={name} kind={name === 'delete' ? 'danger' : 'quiet'} onClick={() => openDialog(name)}>
            {label}
          </Button>
        ))}
      </Menu>
    </div>
  )
}
