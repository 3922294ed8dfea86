import { describeClient } from '../../../src/directory/store-port/sessions.ts'
import { api, toPath, type UserSessionView } from '../api/client.ts'
import { type Resource, useResource } from '../api/use-resource.ts'
import { shared } from '../texts.ts'
import { ActionButton } from './action-button.tsx'
import { Address, Badge, Time } from './parts.tsx'
import { withPassword } from './password-proof.tsx'
import { Loaded } from './states.tsx'
import { type Column, Table } from './table.tsx'
import { notify } from './toast.tsx'

interface SessionList {
  readonly sessions: readonly UserSessionView[]
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
  const end = async (session: UserSessionView) => {
    await withPassword((proof) => api.delete(`${base}${toPath(session.id)}`, proof))
    notify(shared.sessions.ended)
    list.reload()
    onChange?.()
  }
  return (
    <Loaded resource={list} what={shared.sessions.what}>
      {({ sessions }) =>
        sessions.length === 0 ? (
          <p class="quiet">{shared.sessions.none}</p>
        ) : (
          <Table
            caption={shared.sessions.title}
            columns={toColumns(canEnd ? end : undefined)}
            rows={sessions}
            keyOf={({ id }) => id}
          />
        )
      }
    </Loaded>
  )
}

const toColumns = (end: EndSession | undefined): readonly Column<UserSessionView>[] => [
  { label: shared.sessions.client, render: (session) => <Client session={session} /> },
  { label: shared.sessions.seen, render: ({ seenAt }) => <Time at={seenAt} /> },
  ...(end ? [{ label: shared.sessions.end, kind: 'actions', render: toEndButton(end) } as const] : []),
]

type EndSession = (session: UserSessionView) => Promise<void>

const toEndButton = (end: EndSession) => (session: UserSessionView) =>
  session.isCurrent ? (
    <Badge tone="accent">{shared.sessions.current}</Badge>
  ) : (
    <ActionButton kind="quiet" aria-label={shared.sessions.endFrom(session.peer)} run={() => end(session)}>
      {shared.sessions.end}
    </ActionButton>
  )

const Client = ({ session: { peer, door, userAgent } }: { readonly session: UserSessionView }) => (
  <div class="two-lines">
    <div>
      <Address of={peer} /> <span class="quiet">{shared.doors[door] ?? door}</span>
    </div>
    <div class="quiet small cut" title={userAgent}>
      {describeClient(userAgent) || shared.sessions.noAgent}
    </div>
  </div>
)
