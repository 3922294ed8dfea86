import { describeClient } from '../../../src/directory/store-port/sessions.ts'
import { api, toPath, type UserSession } from '../api/client.ts'
import { type Resource, useResource } from '../api/use-resource.ts'
import { texts } from '../texts.ts'
import { ActionButton } from './action-button.tsx'
import { Address, Badge, Time } from './parts.tsx'
import { Loaded } from './states.tsx'
import { type Column, Table } from './table.tsx'
import { notify } from './toast.tsx'

interface SessionList {
  readonly sessions: readonly UserSession[]
}

/** The sessions at this path of the API. They are loaded again with every other `version`. */
export const useSessions = (base: string, version = 0): Resource<SessionList> =>
  useResource(`${base} ${version}`, (signal) => api.get<SessionList>(base, {}, signal), { keepsLast: true })

interface SessionTableProps {
  readonly list: Resource<SessionList>
  readonly base: string
  readonly canEnd: boolean
  readonly onChange?: () => void
}

/** The sessions of a user: where they are from, and a button that ends each. */
export function SessionTable({ list, base, canEnd, onChange }: SessionTableProps) {
  const end = async (session: UserSession) => {
    await api.delete(`${base}${toPath(session.id)}`)
    notify(texts.sessions.ended)
    list.reload()
    onChange?.()
  }
  return (
    <Loaded resource={list} what={texts.sessions.what}>
      {({ sessions }) =>
        sessions.length === 0 ? (
          <p class="quiet">{texts.sessions.none}</p>
        ) : (
          <Table
            caption={texts.sessions.title}
            columns={toColumns(canEnd ? end : undefined)}
            rows={sessions}
            keyOf={({ id }) => id}
          />
        )
      }
    </Loaded>
  )
}

const toColumns = (end: EndSession | undefined): readonly Column<UserSession>[] => [
  { label: texts.sessions.client, render: (session) => <Client session={session} /> },
  { label: texts.sessions.seen, render: ({ seenAt }) => <Time at={seenAt} /> },
  ...(end ? [{ label: texts.sessions.end, kind: 'actions', render: toEndButton(end) } as const] : []),
]

type EndSession = (session: UserSession) => Promise<void>

const toEndButton = (end: EndSession) => (session: UserSession) =>
  session.isCurrent ? (
    <Badge tone="accent">{texts.sessions.current}</Badge>
  ) : (
    <ActionButton kind="quiet" aria-label={texts.sessions.endFrom(session.peer)} run={() => end(session)}>
      {texts.sessions.end}
    </ActionButton>
  )

const Client = ({ session: { peer, door, userAgent } }: { readonly session: UserSession }) => (
  <div class="two-lines">
    <div>
      <Address of={peer} /> <span class="quiet">{texts.doors[door] ?? door}</span>
    </div>
    <div class="quiet small cut" title={userAgent}>
      {describeClient(userAgent) || texts.sessions.noAgent}
    </div>
  </div>
)
