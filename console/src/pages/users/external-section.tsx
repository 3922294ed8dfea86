import { api, type ExternalAccount, toPath } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { openDialog, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Button, Section, Time } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import type { EditedUser } from './rights-section.tsx'

const UNLINK = 'unlink'

/** The accounts at identity providers that sign in as the user. Most users have none, and then nothing is shown. */
export function ExternalSection({ user: { name, sessions }, canEdit, onChange }: EditedUser) {
  const { query } = useRoute()
  const base = toPath('users', name, 'external-accounts')
  const list = useResource(
    `${base} ${sessions}`,
    (signal) => api.get<{ readonly accounts: readonly ExternalAccount[] }>(base, {}, signal),
    { keepsLast: true },
  )
  const accounts = list.data?.accounts ?? []
  const chosen = query['do'] === UNLINK ? accounts.find(({ id }) => id === query['account']) : undefined
  if (accounts.length === 0) return null
  return (
    <Section title={texts.external.title}>
      <Table
        caption={texts.external.title}
        columns={canEdit ? [...COLUMNS, REMOVAL] : COLUMNS}
        rows={accounts}
        keyOf={({ id }) => id}
      />
      {canEdit && chosen && (
        <ConfirmDialog
          label={texts.external.unlinkOne(chosen.provider, name)}
          effect={texts.external.effect(name)}
          isDanger
          run={(proof) => api.delete(`${base}${toPath(chosen.id)}`, proof)}
          done={() => texts.external.unlinked(chosen.provider, name)}
          onDone={() => {
            list.reload()
            onChange()
          }}
        />
      )}
    </Section>
  )
}

const COLUMNS: readonly Column<ExternalAccount>[] = [
  {
    label: texts.external.account,
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
  { label: texts.external.linked, render: ({ linkedAt }) => <Time at={linkedAt} /> },
]

const REMOVAL: Column<ExternalAccount> = {
  label: texts.external.unlink,
  kind: 'actions',
  render: ({ id, provider, subject }) => (
    <Button
      kind="quiet"
      aria-label={texts.external.unlinkButton(provider, subject)}
      onClick={() => openDialog(UNLINK, { account: id })}
    >
      {texts.external.unlink}
    </Button>
  ),
}
