import { type AuditListView, type AuditRecordView, api, type OverviewView } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { toCount } from '../../numbers.ts'
import { toHref } from '../../router.ts'
import { shared } from '../../texts.ts'
import { toClock } from '../../times.ts'
import { Address, Card } from '../../ui/parts.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { texts } from './texts.ts'

const EVENT = 'sign-in.refused'
const MAX_READ = 1000
const MAX_SHOWN = 6

interface Row {
  readonly name: string
  /** `undefined`: records about several names, or about none. */
  readonly user: string | undefined
  readonly peer: string
  readonly times: number
}

/** Who was refused most often, and from where, in the newest records of the range. */
export function MostRefused({ overview, range }: { readonly overview: OverviewView; readonly range: string }) {
  const { from, now, totals, range: name } = overview
  const query = { event: EVENT, since: from * 1000, limit: MAX_READ }
  const resource = useResource(
    // counts of repeated refusals are written when their minute is over
    JSON.stringify([name, totals.refusals, Math.floor(now / 60)]),
    (signal) => api.get<AuditListView>('/audit', query, signal),
    { keepsLast: true },
  )
  const oldest = resource.data?.next === undefined ? undefined : resource.data.records.at(-1)
  const covered = oldest ? texts.refusedSince(toClock(Math.floor(oldest.time / 1000))) : range
  return (
    <Card title={texts.mostRefused} actions={<span class="quiet small">{covered}</span>}>
      <Loaded resource={resource} what={shared.audit.what}>
        {({ records }) => <Refused rows={countByOrigin(records)} range={name} />}
      </Loaded>
    </Card>
  )
}

function countByOrigin(records: readonly AuditRecordView[]): readonly Row[] {
  const rows = new Map<string, Row>()
  for (const { subject, names, peer = '', count = 1 } of records) {
    const user = names === undefined ? subject : undefined
    const name = names === undefined ? (subject ?? shared.audit.unnamed) : texts.otherNames
    const key = JSON.stringify([name, peer])
    rows.set(key, { name, user, peer, times: (rows.get(key)?.times ?? 0) + count })
  }
  return [...rows.values()].sort((a, b) => b.times - a.times).slice(0, MAX_SHOWN)
}

function Refused({ rows, range }: { readonly rows: readonly Row[]; readonly range: string }) {
  if (rows.length === 0) return <Empty title={texts.noneRefused} text={texts.noneRefusedText} />
  return (
    <Table
      caption={texts.mostRefused}
      rows={rows}
      keyOf={({ name, peer }) => JSON.stringify([name, peer])}
      columns={[
        {
          label: texts.mostRefusedName,
          render: ({ name, user }) => (
            <a class="name" href={toHref(['audit'], { event: EVENT, range, user })}>
              {name}
            </a>
          ),
        },
        { label: texts.mostRefusedPeer, render: ({ peer }) => <Address of={peer} /> },
        { label: texts.times, kind: 'number', render: ({ times }) => toCount(times) },
      ]}
    />
  )
}
