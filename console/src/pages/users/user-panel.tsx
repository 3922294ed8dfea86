import { api, isNotFound, type LockoutView, toPath, type UserDetailsView } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { AddressSection } from '../../modules/mail/address-section.tsx'
import { PasskeySection } from '../../modules/passkeys/passkey-section.tsx'
import { linkTexts } from '../../modules/password-links/texts.ts'
import { ExternalSection } from '../../modules/providers/external-section.tsx'
import { DatabaseSection } from '../../modules/user-databases/database-section.tsx'
import { openDialog, toHref, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { toDuration } from '../../times.ts'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Button, ButtonLink, type Fact, Facts, Section, Time } from '../../ui/parts.tsx'
import { showScheme } from '../../ui/password-scheme.ts'
import { describeFactors } from '../../ui/second-factor.ts'
import { SessionTable, useSessions } from '../../ui/session-table.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { AccessSection } from './access-section.tsx'
import { GrantSection, RoleSection } from './rights-section.tsx'
import { UserStatus } from './status.tsx'
import { texts } from './texts.ts'
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
  const user = useResource(name, (signal) => api.get<UserDetailsView>(toPath('users', name), {}, signal))
  const refresh = () => {
    user.reload()
    onChange()
  }
  useLiveReload((record) => record['subject'] === name, user.reload)
  if (isNotFound(user.error)) return <NoSuchUser name={name} back={back} />
  return (
    <SidePanel title={name} badges={user.data && <UserStatus user={user.data} />} back={back}>
      <Loaded resource={user} what={texts.whatOne(name)}>
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
    <Empty title={texts.notFound(name)} text={texts.notFoundText}>
      <div class="row">
        <ButtonLink href={toHref(['users'])}>{texts.showAll}</ButtonLink>
        <ButtonLink href={toHref(['users'], { do: 'add' })}>{texts.add}</ButtonLink>
      </div>
    </Empty>
  </SidePanel>
)

function Details({ user, onChange }: Readonly<{ user: UserDetailsView; onChange: () => void }>) {
  const canEdit = user.canEdit !== false
  const props = { user, canEdit, onChange }
  const base = toPath('users', user.name, 'sessions')
  const sessions = useSessions(base, user.sessions)
  return (
    <>
      {!canEdit && <p class="notice">{texts.readOnly}</p>}
      <Facts facts={toFacts(user)} />
      {canEdit && <Actions user={user} />}
      <AddressSection {...props} />
      <RoleSection {...props} />
      <GrantSection {...props} />
      <DatabaseSection {...props} />
      <ExternalSection {...props} />
      <PasskeySection {...props} />
      <Section title={shared.sessions.title}>
        <SessionTable list={sessions} base={base} canEnd={canEdit} onChange={onChange} />
      </Section>
      <AccessSection user={user} />
    </>
  )
}

const toFacts = (user: UserDetailsView): readonly Fact[] => [
  [shared.users.lastSignIn, <LastSignIn key="sign-in" signIn={user.lastSignIn} hasPeer />],
  ...(user.lockout ? [[texts.lockout, <LockoutText key="lockout" lockout={user.lockout} />] as const] : []),
  [shared.users.expires, user.expires ? <Time at={user.expires} /> : shared.time.never],
  [shared.users.secondFactor, describeFactors(user) || shared.users.totpOff],
  [shared.users.password, user.password === null ? shared.users.noPassword : showScheme(user.password)],
  [texts.tokens, String(user.accessTokens)],
]

function LockoutText({ lockout }: { readonly lockout: LockoutView }) {
  const seconds = Math.max((Date.parse(lockout.until) - Date.now()) / 1000, 0)
  return (
    <>
      {texts.lockedFrom(lockout)}, <span title={lockout.until}>{texts.lockedFor(toDuration(seconds))}</span>
    </>
  )
}

/** Forms beside the actions that only need a confirmation, with the labels of their buttons. */
const FORMS = { link: linkTexts.short, password: shared.users.setPassword, expire: texts.setExpiry }

/** The first two are buttons, the rest is in a menu. */
const ORDER = ['unlock', 'link', 'disable', 'enable', 'password', 'expire', 'sign-out', 'reset-totp', 'delete'] as const

const MAIN_ACTIONS = 2

function Actions({ user }: { readonly user: UserDetailsView }) {
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
      <Menu label={texts.moreActions}>
        {offered.slice(MAIN_ACTIONS).map(([name, label]) => (
          <Button key={name} kind={name === 'delete' ? 'danger' : 'quiet'} onClick={() => openDialog(name)}>
            {label}
          </Button>
        ))}
      </Menu>
    </div>
  )
}
