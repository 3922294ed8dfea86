import type { PasskeysView, PasskeyView } from '../../../../src/modules/passkeys/schemas.ts'
import { api, toPath } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { openDialog, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Button, Section } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { PASSKEY_COLUMNS } from './columns.tsx'
import { texts } from './texts.ts'

const REMOVE = 'remove-passkey'

interface PasskeySectionProps {
  readonly user: { readonly name: string; readonly sessions: number; readonly passkeys?: number }
  readonly canEdit: boolean
  readonly onChange: () => void
}

/** The passkeys of a user or administrator, for administrators. Most have none, and then nothing is shown. */
export function PasskeySection({ user: { name, sessions, passkeys: count }, canEdit, onChange }: PasskeySectionProps) {
  const { query } = useRoute()
  const base = toPath('users', name, 'passkeys')
  const list = useResource(`${base} ${sessions} ${count}`, (signal) => api.get<PasskeysView>(base, {}, signal), {
    keepsLast: true,
  })
  const passkeys = list.data?.passkeys ?? []
  const chosen = query['do'] === REMOVE ? passkeys.find(({ id }) => id === query['passkey']) : undefined
  if (passkeys.length === 0) return null
  return (
    <Section title={texts.title}>
      <Table
        caption={texts.title}
        columns={canEdit ? [...PASSKEY_COLUMNS, REMOVAL] : PASSKEY_COLUMNS}
        rows={passkeys}
        keyOf={({ id }) => id}
      />
      {canEdit && chosen && (
        <ConfirmDialog
          label={texts.removeOne(chosen.label)}
          effect={texts.removeTextOf(name)}
          isDanger
          run={(proof) => api.delete(`${base}${toPath(chosen.id)}`, proof)}
          done={() => texts.removed(chosen.label)}
          onDone={() => {
            list.reload()
            onChange()
          }}
        />
      )}
    </Section>
  )
}

const REMOVAL: Column<PasskeyView> = {
  label: shared.actions.remove,
  kind: 'actions',
  render: ({ id, label }) => (
    <Button kind="quiet" aria-label={texts.removeOne(label)} onClick={() => openDialog(REMOVE, { passkey: id })}>
      {shared.actions.remove}
    </Button>
  ),
}
