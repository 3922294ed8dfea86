import { useState } from 'preact/hooks'
import type { PasskeysView, PasskeyView } from '../../../../src/modules/passkeys/schemas.ts'
import { api, toPath } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { closeDialog, openDialog, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Button, Card } from '../../ui/parts.tsx'
import { PASSKEY_PROOF, type Proof, withPassword } from '../../ui/password-proof.tsx'
import { showRecoveryCodes } from '../../ui/recovery-codes.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { notify, notifyAfterReload } from '../../ui/toast.tsx'
import { PASSKEY_COLUMNS } from './columns.tsx'
import { texts } from './texts.ts'
import { canUsePasskeys, createPasskey, isCancelled } from './use-passkey.ts'

const BASE = '/account/passkeys'

interface PasskeyCardProps {
  /** Whether the user has a password, and need not keep it. */
  readonly canRemovePassword: boolean
  readonly onAdded: () => void
}

export function PasskeyCard({ canRemovePassword, onAdded }: PasskeyCardProps) {
  const { query } = useRoute()
  const list = useResource('passkeys', (signal) => api.get<PasskeysView>(BASE, {}, signal))
  const chosen = list.data?.passkeys.find(({ id }) => id === query['passkey'])
  const add = canUsePasskeys() && <Button onClick={() => openDialog('add-passkey')}>{texts.add}</Button>
  const reload = () => {
    list.reload()
    onAdded()
  }
  return (
    <Card title={texts.title} actions={add}>
      <Loaded resource={list} what={texts.what}>
        {({ passkeys }) =>
          passkeys.length === 0 ? (
            <Empty title={texts.none} text={canUsePasskeys() ? texts.text : `${texts.text} ${texts.notHere}`} />
          ) : (
            <>
              <Table caption={texts.title} columns={COLUMNS} rows={passkeys} keyOf={({ id }) => id} />
              {canRemovePassword && canUsePasskeys() && (
                <div class="inside row">
                  <Button onClick={() => openDialog('remove-password')}>{texts.removePassword}</Button>
                  <span class="quiet">{texts.removePasswordHint}</span>
                </div>
              )}
            </>
          )
        }
      </Loaded>
      {query['do'] === 'add-passkey' && <AddPasskey onAdded={reload} />}
      {query['do'] === 'rename-passkey' && chosen && <RenamePasskey passkey={chosen} onRenamed={list.reload} />}
      {query['do'] === 'remove-password' && canRemovePassword && <RemovePassword />}
      {query['do'] === 'remove-passkey' && chosen && <RemovePasskey passkey={chosen} />}
    </Card>
  )
}

const COLUMNS: readonly Column<PasskeyView>[] = [
  ...PASSKEY_COLUMNS,
  {
    label: shared.actions.remove,
    kind: 'actions',
    render: ({ id, label }) => (
      <>
        <Button
          kind="quiet"
          aria-label={texts.renameOne(label)}
          onClick={() => openDialog('rename-passkey', { passkey: id })}
        >
          {texts.rename}
        </Button>
        <Button
          kind="quiet"
          aria-label={texts.removeOne(label)}
          onClick={() => openDialog('remove-passkey', { passkey: id })}
        >
          {shared.actions.remove}
        </Button>
      </>
    ),
  },
]

interface Added {
  readonly recoveryCodes?: readonly string[]
}

/** The options are given for the password or a passkey; what is made with them needs neither. */
async function addPasskey(label: string, proof: Proof): Promise<Added> {
  const asked = await api.post<{ readonly options: object }>(`${BASE}/options`, proof)
  const response = await createPasskey(asked).catch((error: unknown) => {
    throw isCancelled(error) ? new Error(texts.cancelled) : error
  })
  return api.post<Added>(BASE, { label, response })
}

function AddPasskey({ onAdded }: { readonly onAdded: () => void }) {
  const [label, setLabel] = useState('')
  const add = async () => {
    const { recoveryCodes } = await withPassword((proof) => addPasskey(label, proof))
    notify(texts.added(label))
    if (recoveryCodes) showRecoveryCodes(recoveryCodes)
    closeDialog()
    onAdded()
  }
  return (
    <FormDialog title={texts.add} action={texts.add} isReady={label.trim() !== ''} onClose={closeDialog} onSubmit={add}>
      <TextField label={texts.name} hint={texts.nameHint} value={label} onValue={setLabel} />
    </FormDialog>
  )
}

interface RenameProps {
  readonly passkey: PasskeyView
  readonly onRenamed: () => void
}

function RenamePasskey({ passkey: { id, label: before }, onRenamed }: RenameProps) {
  const [label, setLabel] = useState(before)
  const rename = async () => {
    await api.put(toPath('account', 'passkeys', id), { label })
    closeDialog()
    onRenamed()
  }
  return (
    <FormDialog
      title={texts.renameOne(before)}
      action={texts.rename}
      isReady={label.trim() !== ''}
      onClose={closeDialog}
      onSubmit={rename}
    >
      <TextField label={texts.name} value={label} onValue={setLabel} />
    </FormDialog>
  )
}

/** Signed with a passkey, so that one is known to work. */
const RemovePassword = () => (
  <ConfirmDialog
    label={texts.removePassword}
    effect={texts.removePasswordText}
    isDanger
    run={() => api.delete('/account/password', PASSKEY_PROOF)}
    done={() => texts.passwordRemoved}
    onDone={() => {
      notifyAfterReload(texts.passwordRemoved)
      location.reload()
    }}
  />
)

/** This page gets a new session, and its token with the next delivery of the page. */
const RemovePasskey = ({ passkey: { id, label } }: { readonly passkey: PasskeyView }) => (
  <ConfirmDialog
    label={texts.removeOne(label)}
    effect={texts.removeText}
    isDanger
    run={(proof) => api.delete(toPath('account', 'passkeys', id), proof)}
    done={() => texts.removed(label)}
    onDone={() => {
      notifyAfterReload(texts.removed(label))
      location.reload()
    }}
  />
)
