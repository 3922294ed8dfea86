import { api } from '../../api/client.ts'
import type { AuditList, AuditRecord, Overview } from '../../api/types.ts'
import { useResource } from '../../api/use-resource.ts'
import { toCount } from '../../numbers.ts'
import { toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Card } from '../../ui/parts.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'

const EVENT = 'sign-in.refused'
const MAX_READ = 1000
const MAX_SHOWN = 6

interface Row {
  readonly name: string
  readonly peer: string
  readonly times: number
}

/** Who was refused most often, and from where, in the newest records of the range. */
export function MostRefused({ overview, range }: { readonly overview: Overview; readonly range: string }) {
  const { from, totals, range: name } = overview
  const query = { event: EVENT, since: from * 1000, limit: MAX_READ }
  const resource = useResource(
    JSON.stringify([name, totals.refusals]),
    (signal) => api.get<AuditList>('/audit', query, signal),
    { keepsLast: true },
  )
  return (
    <Card title={texts.overview.mostRefused} actions={<span class="quiet small">{range}</span>}>
      <Loaded resource={resource} what={texts.audit.what}>
        {({ records }) => <Refused rows={countByOrigin(records)} range={name} />}
      </Loaded>
    </Card>
  )
}

function countByOrigin(records: readonly AuditRecord[]): readonly Row[] {
  const rows = new Map<string, Row>()
  for (const { subject = texts.audit.unnamed, peer = '', count = 1 } of records) {
    const key = JSON.stringify([subject, peer])
    rows.set(key, { name: subject, peer, times: (rows.get(key)?.times ?? 0) + count })
  }
  return [...rows.values()].sort((a, b) => b.times - a.times).slice(0, MAX_SHOWN)
}

function Refused({ rows, range }: { readonly rows: readonly Row[]; readonly range: string }) {
  const { overview } = texts
  if (rows.length === 0) return <Empty title={overview.noneRefused} text={overview.noneRefusedText} />
  return (
    <Table
      caption={overview.mostRefused}
      rows={rows}
      keyOf={({ name, peer }) => JSON.stringify([name, peer])}
      columns={[
        {
          label: overview.mostRefusedName,
          render: ({ name }) => (
            <a class="name" href={toHref(['audit'], { event: EVENT, range, user: name })}>
              {name}
            </a>
          ),
        },
        { label: overview.mostRefusedPeer, render: ({ peer }) => <span class="mono">{peer}</span> },
        { label: overview.times, kind: 'number', render: ({ times }) => toCount(times) },
      ]}
    />
  )
}
