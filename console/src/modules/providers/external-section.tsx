import type { ExternalAccountView } from '../../../../src/modules/providers/schemas.ts'
import { api, toPath } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import type { EditedUser } from '../../pages/users/rights-section.tsx'
import { openDialog, useRoute } from '../../router.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Button, Section, Time } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { texts } from './texts.ts'

const UNLINK = 'unlink'

/** The accounts at identity providers that sign in as the user. Most users have none, and then nothing is shown. */
export function ExternalSection({ user: { name, sessions }, canEdit, onChange }: EditedUser) {
  const { query } = useRoute()
  const base = toPath('users', name, 'external-accounts')
  const list = useResource(
    `${base} ${sessions}`,
    (signal) => api.get<{ readonly accounts: readonly ExternalAccountView[] }>(base, {}, signal),
    { keepsLast: true },
  )
  const accounts = list.data?.accounts ?? []
  const chosen = query['do'] === UNLINK ? accounts.find(({ id }) => id === query['account']) : undefined
  if (accounts.length === 0) return null
  return (
    <Section title={texts.title}>
      <Table
        caption={texts.title}
        columns={canEdit ? [...COLUMNS, REMOVAL] : COLUMNS}
        rows={accounts}
        keyOf={({ id }) => id}
      />
      {canEdit && chosen && (
        <ConfirmDialog
          label={texts.unlinkOne(chosen.provider, name)}
          effect={texts.effect(name)}
          isDanger
          run={(proof) => api.delete(`${base}${toPath(chosen.id)}`, proof)}
          done={() => texts.unlinked(chosen.provider, name)}
          onDone={() => {
            list.reload()
            onChange()
          }}
        />
      )}
    </Section>
  )
}

const COLUMNS: readonly Column<ExternalAccountView>[] = [
  {
    label: texts.account,
    render: ({ provider, issuer, subject }) => (
      <div class="two-lines">
        <div>
          {provider} <span class="mono">{subject}</span>
        </div>
        <div class="quiet small cut" title={issuer}>
          {issuer}
        </div>
      </div>
    ),
  },
  { label: texts.linked, render: ({ linkedAt }) => <Time at={linkedAt} /> },
]

const REMOVAL: Column<ExternalAccountView> = {
  label: texts.unlink,
  kind: 'actions',
  render: ({ id, provider, subject }) => (
    <Button
      kind="quiet"
      aria-label={texts.unlinkButton(provider, subject)}
      onClick={() => openDialog(UNLINK, { account: id })}
    >
      {texts.unlink}
    </Button>
  ),
}
