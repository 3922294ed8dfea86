import type { PasskeyView } from '../../../../src/modules/passkeys/schemas.ts'
import { Time } from '../../ui/parts.tsx'
import type { Column } from '../../ui/table.tsx'
import { texts } from './texts.ts'

export const PASSKEY_COLUMNS: readonly Column<PasskeyView>[] = [
  { label: texts.name, render: ({ label }) => label },
  { label: texts.kind, render: ({ kind }) => texts.kinds[kind] },
  { label: texts.created, render: ({ createdAt }) => <Time at={createdAt} /> },
  { label: texts.used, render: ({ usedAt }) => (usedAt ? <Time at={usedAt} /> : texts.unused) },
]
