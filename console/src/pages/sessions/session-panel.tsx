import { api, type ListedSessionView } from '../../api/client.ts'
import { toHref } from '../../router.ts'
import { shared } from '../../texts.ts'
import { ActionButton } from '../../ui/action-button.tsx'
import { Address, Badge, ButtonLink, Facts, Time } from '../../ui/parts.tsx'
import { withPassword } from '../../ui/password-proof.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty } from '../../ui/states.tsx'
import { notify } from '../../ui/toast.tsx'
import { texts } from './texts.ts'

interface SessionPanelProps {
  /** `undefined`: the list does not have it. */
  readonly session: ListedSessionView | undefined
  readonly back: string
  readonly onChange: () => void
}

export function SessionPanel({ session, back, onChange }: SessionPanelProps) {
  if (!session)
    return (
      <SidePanel title={texts.one} back={back}>
        <Empty title={texts.notListed} text={texts.notListedText} />
      </SidePanel>
    )
  const { name, peer, client, userAgent, door, createdAt, seenAt, expiresAt, isCurrent, isAdministrator } = session
  const end = async () => {
    await withPassword((proof) => api.post('/sessions/end', { ids: [session.id], ...proof }))
    notify(shared.sessions.ended)
    onChange()
  }
  return (
    <SidePanel
      title={texts.openedFrom(name, peer)}
      badges={isCurrent && <Badge tone="accent">{shared.sessions.current}</Badge>}
      back={back}
    >
      <Facts
        facts={[
          [
            texts.keys.user,
            <a key="name" class="mono" href={toHref([isAdministrator ? 'administrators' : 'users', name])}>
              {name}
            </a>,
          ],
          ...(peer === '' ? [] : [[texts.address, <Address key="address" of={peer} />] as const]),
          [shared.sessions.client, client || shared.sessions.noAgent],
          [texts.door, shared.doors[door] ?? door],
          [texts.opened, <Time key="opened" at={createdAt} />],
          [shared.sessions.seen, <Time key="seen" at={seenAt} />],
          [texts.expires, <Time key="expires" at={expiresAt} />],
          [texts.agent, <span key="agent">{userAgent || shared.sessions.noAgent}</span>],
        ]}
      />
      <div class="row">
        {!isCurrent && (
          <ActionButton kind="danger" run={end}>
            {texts.endOne}
          </ActionButton>
        )}
        <ButtonLink href={toHref(['sessions'], { search: name })}>{texts.ofUser(name)}</ButtonLink>
        {peer !== '' && (
          <ButtonLink href={toHref(['sessions'], { by: 'address', search: peer })}>{texts.fromAddress}</ButtonLink>
        )}
      </div>
    </SidePanel>
  )
}
