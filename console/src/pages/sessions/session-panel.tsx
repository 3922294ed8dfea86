import { api, type ListedSession } from '../../api/client.ts'
import { toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { ActionButton } from '../../ui/action-button.tsx'
import { Address, Badge, ButtonLink, Facts, Time } from '../../ui/parts.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty } from '../../ui/states.tsx'
import { notify } from '../../ui/toast.tsx'

interface SessionPanelProps {
  /** `undefined`: the list does not have it. */
  readonly session: ListedSession | undefined
  readonly back: string
  readonly onChange: () => void
}

export function SessionPanel({ session, back, onChange }: SessionPanelProps) {
  if (!session)
    return (
      <SidePanel title={texts.sessions.one} back={back}>
        <Empty title={texts.sessions.notListed} text={texts.sessions.notListedText} />
      </SidePanel>
    )
  const { name, peer, client, userAgent, door, createdAt, seenAt, expiresAt, isCurrent, isAdministrator } = session
  const end = async () => {
    await api.post('/sessions/end', { ids: [session.id] })
    notify(texts.sessions.ended)
    onChange()
  }
  return (
    <SidePanel
      title={texts.sessions.openedFrom(name, peer)}
      badges={isCurrent && <Badge tone="accent">{texts.sessions.current}</Badge>}
      back={back}
    >
      <Facts
        facts={[
          [
            texts.sessions.keys.user,
            <a key="name" class="mono" href={toHref([isAdministrator ? 'administrators' : 'users', name])}>
              {name}
            </a>,
          ],
          ...(peer === '' ? [] : [[texts.sessions.address, <Address key="address" of={peer} />] as const]),
          [texts.sessions.client, client || texts.sessions.noAgent],
          [texts.sessions.door, texts.doors[door] ?? door],
          [texts.sessions.opened, <Time key="opened" at={createdAt} />],
          [texts.sessions.seen, <Time key="seen" at={seenAt} />],
          [texts.sessions.expires, <Time key="expires" at={expiresAt} />],
          [texts.sessions.agent, <span key="agent">{userAgent || texts.sessions.noAgent}</span>],
        ]}
      />
      <div class="row">
        {!isCurrent && (
          <ActionButton kind="danger" run={end}>
            {texts.sessions.endOne}
          </ActionButton>
        )}
        <ButtonLink href={toHref(['sessions'], { search: name })}>{texts.sessions.ofUser(name)}</ButtonLink>
        {peer !== '' && (
          <ButtonLink href={toHref(['sessions'], { by: 'address', search: peer })}>
            {texts.sessions.fromAddress}
          </ButtonLink>
        )}
      </div>
    </SidePanel>
  )
}
