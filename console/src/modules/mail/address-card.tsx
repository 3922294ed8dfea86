import { useState } from 'preact/hooks'
import type { AddressView } from '../../../../src/modules/mail/schemas.ts'
import { api } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { closeDialog, openDialog, useRoute } from '../../router.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Button, Card } from '../../ui/parts.tsx'
import { withPassword } from '../../ui/password-proof.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'
import { texts } from './texts.ts'

const PATH = '/account/address'
const CHANGE = 'change-address'

/** The own address. Where the server sends no messages, nothing is shown. */
export function AddressCard() {
  const { query } = useRoute()
  const [sentTo, setSentTo] = useState('')
  const { data } = useResource('address', (signal) => api.get<AddressView>(PATH, {}, signal))
  if (!data?.canSend) return null
  const { address } = data
  return (
    <Card title={texts.title}>
      <div class="inside stack">
        {address === null ? <p class="quiet">{texts.none}</p> : <p class="mono">{address}</p>}
        <div class="row">
          <Button onClick={() => openDialog(CHANGE)}>{address === null ? texts.add : texts.change}</Button>
          {sentTo !== '' && sentTo !== address && (
            <Button onClick={() => requestAddress(sentTo).catch(notifyProblem)}>{texts.sendAgain}</Button>
          )}
        </div>
      </div>
      {query['do'] === CHANGE && <ChangeAddress onSent={setSentTo} />}
    </Card>
  )
}

async function requestAddress(address: string): Promise<void> {
  await withPassword((proof) => api.post(PATH, { address, ...proof }))
  notify(texts.sent(address))
}

function ChangeAddress({ onSent }: { readonly onSent: (address: string) => void }) {
  const [address, setAddress] = useState('')
  const send = async () => {
    await requestAddress(address.trim())
    onSent(address.trim())
    closeDialog()
  }
  return (
    <FormDialog
      title={texts.change}
      action={texts.send}
      isReady={address.includes('@')}
      onClose={closeDialog}
      onSubmit={send}
    >
      <p>{texts.text}</p>
      <TextField label={texts.title} type="email" autoComplete="email" value={address} onValue={setAddress} />
    </FormDialog>
  )
}
