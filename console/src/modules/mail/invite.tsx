import { useState } from 'preact/hooks'
import type { InvitationListView } from '../../../../src/modules/mail/schemas.ts'
import { api, toPath } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useIsAdministrator } from '../../frame/session.ts'
import { closeDialog, openDialog, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { NamesField } from '../../ui/names-field.tsx'
import { Button } from '../../ui/parts.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'
import { MessagesDialog } from './messages.tsx'
import { texts } from './texts.ts'

const PATH = '/invitations'
const INVITE = 'invite'
const MESSAGES = 'messages'

/** For administrators. Where the server sends no messages, nothing is shown. */
export const MailButtons = () => (useIsAdministrator() ? <Buttons /> : null)

function Buttons() {
  const { query } = useRoute()
  const list = useResource('invitations', (signal) => api.get<InvitationListView>(PATH, {}, signal), {
    keepsLast: true,
  })
  if (!list.data?.canSend) return null
  return (
    <>
      <Button onClick={() => openDialog(MESSAGES)}>{texts.messages}</Button>
      <Button onClick={() => openDialog(INVITE)}>{texts.invite}</Button>
      {query['do'] === MESSAGES && <MessagesDialog />}
      {query['do'] === INVITE && <InviteDialog list={list.data} onChange={list.reload} />}
    </>
  )
}

interface InviteProps {
  readonly list: InvitationListView
  readonly onChange: () => void
}

function InviteDialog({ list, onChange }: InviteProps) {
  const [address, setAddress] = useState('')
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<readonly string[]>([])
  const send = async () => {
    await api.post(PATH, { address, roles, ...(name !== '' && { name }) })
    notify(texts.sent(address.trim()))
    closeDialog()
    onChange()
  }
  return (
    <FormDialog
      title={texts.invite}
      action={texts.sendInvitation}
      isReady={address.includes('@')}
      onClose={closeDialog}
      onSubmit={send}
    >
      <p>{texts.inviteText}</p>
      <TextField label={texts.title} type="email" value={address} onValue={setAddress} />
      <TextField label={shared.users.name} hint={texts.openName} value={name} onValue={setName} />
      <NamesField label={shared.users.roles} names={roles} onNames={setRoles} of="roles" />
      {list.invitations.length > 0 && <OpenInvitations list={list} onChange={onChange} />}
    </FormDialog>
  )
}

function OpenInvitations({ list, onChange }: InviteProps) {
  const act = (work: Promise<unknown>, done: string) => work.then(() => [notify(done), onChange()]).catch(notifyProblem)
  return (
    <section>
      <h3>{texts.openInvitations}</h3>
      <ul>
        {list.invitations.map(({ address, name, roles, grants }) => {
          const again = () => api.post(PATH, { address, roles, grants, ...(name !== null && { name }) })
          const remove = () => api.delete(toPath('invitations', address))
          return (
            <li key={address} class="row">
              <span>{address}</span>
              <Button onClick={() => act(again(), texts.sent(address))}>{texts.sendAgain}</Button>
              <Button onClick={() => act(remove(), texts.withdrawn(address))}>{texts.withdraw}</Button>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
