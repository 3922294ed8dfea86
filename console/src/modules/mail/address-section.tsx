import { useState } from 'preact/hooks'
import type { AddressView } from '../../../../src/modules/mail/schemas.ts'
import { api, toPath } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useIsAdministrator } from '../../frame/session.ts'
import type { EditedUser } from '../../pages/users/rights-section.tsx'
import { closeDialog, openDialog, useRoute } from '../../router.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Button, Section } from '../../ui/parts.tsx'
import { withPassword } from '../../ui/password-proof.tsx'
import { notify } from '../../ui/toast.tsx'
import { texts } from './texts.ts'

const SET = 'set-address'
const VERIFY = 'verify-address'

/** The address of the user. Where the server sends no messages, nothing is shown. */
export function AddressSection({ user: { name, address = '' }, canEdit, onChange }: EditedUser) {
  const { query } = useRoute()
  const canSet = useIsAdministrator() && canEdit
  const path = toPath('users', name, 'address')
  const { data } = useResource(`${path} ${address}`, (signal) => api.get<AddressView>(path, {}, signal), {
    keepsLast: true,
  })
  if (!data?.canSend) return null
  return (
    <Section title={texts.title}>
      <p class={data.address === null ? 'quiet' : 'mono'}>{data.address ?? texts.noneOf(name)}</p>
      {canSet && (
        <div class="row">
          <Button onClick={() => openDialog(SET)}>{texts.set}</Button>
          <Button onClick={() => openDialog(VERIFY)}>{texts.verify}</Button>
        </div>
      )}
      {canSet && query['do'] === SET && <SetAddress name={name} old={data.address ?? ''} onChange={onChange} />}
      {canSet && query['do'] === VERIFY && <VerifyAddress name={name} />}
    </Section>
  )
}

interface SetAddressProps {
  readonly name: string
  readonly old: string
  readonly onChange: () => void
}

function SetAddress({ name, old, onChange }: SetAddressProps) {
  const [address, setAddress] = useState(old)
  const save = async () => {
    const body = { address: address.trim() || null }
    await withPassword((proof) => api.put(toPath('users', name, 'address'), { ...body, ...proof }))
    notify(texts.changed(name))
    onChange()
    closeDialog()
  }
  return (
    <FormDialog title={texts.setOf(name)} action={texts.set} onClose={closeDialog} onSubmit={save}>
      <p>{texts.setText}</p>
      <TextField label={texts.title} type="email" value={address} onValue={setAddress} />
    </FormDialog>
  )
}

/** The address becomes that of the user when the person who reads its mailbox uses the link. */
function VerifyAddress({ name }: { readonly name: string }) {
  const [address, setAddress] = useState('')
  const send = async () => {
    await api.post(toPath('users', name, 'address'), { address })
    notify(texts.sent(address.trim()))
    closeDialog()
  }
  return (
    <FormDialog
      title={texts.setOf(name)}
      action={texts.send}
      isReady={address.includes('@')}
      onClose={closeDialog}
      onSubmit={send}
    >
      <p>{texts.verifyText(name)}</p>
      <TextField label={texts.title} type="email" value={address} onValue={setAddress} />
    </FormDialog>
  )
}
