import type { WaitingListView } from '../../../../src/modules/mail/schemas.ts'
import { api } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { closeDialog, toHref } from '../../router.ts'
import { shared } from '../../texts.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Button, ButtonLink, ExactTime } from '../../ui/parts.tsx'
import { Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { texts } from './texts.ts'

type Waiting = WaitingListView['messages'][number]

const { waits } = texts

const COLUMNS: readonly Column<Waiting>[] = [
  { label: waits.message, render: ({ message }) => message },
  { label: waits.address, render: ({ address }) => address },
  { label: waits.next, render: ({ nextAt }) => (nextAt === null ? waits.now : <ExactTime at={nextAt} />) },
  { label: waits.problem, render: ({ problem }) => problem },
]

/** What waits, and a link to what was sent. */
export function MessagesDialog() {
  const list = useResource('messages', (signal) => api.get<WaitingListView>('/messages', {}, signal))
  return (
    <Dialog title={texts.messages} kind="large" onClose={closeDialog}>
      <Loaded resource={list} what={texts.waiting}>
        {({ messages }) =>
          messages.length === 0 ? (
            <p class="quiet">{texts.noneWait}</p>
          ) : (
            <Table caption={texts.messages} columns={COLUMNS} rows={messages} keyOf={({ id }) => String(id)} />
          )
        }
      </Loaded>
      <div class="row end">
        <ButtonLink href={toHref(['audit'], { event: 'mail.sent' })}>{texts.showSent}</ButtonLink>
        <Button onClick={closeDialog}>{shared.actions.close}</Button>
      </div>
    </Dialog>
  )
}
