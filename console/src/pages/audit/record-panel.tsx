import type { AuditListView, AuditRecordView } from '../../api/client.ts'
import type { Resource } from '../../api/use-resource.ts'
import { shared } from '../../texts.ts'
import { Badge, ExactTime, Facts, Section, Time } from '../../ui/parts.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, Loading } from '../../ui/states.tsx'
import { Sentence } from './sentence.tsx'
import { texts } from './texts.ts'

interface RecordPanelProps {
  readonly id: string
  /** Records that arrived after the list was loaded. */
  readonly records: readonly AuditRecordView[]
  readonly list: Resource<AuditListView>
  readonly back: string
}

/** One record of the list, with every field. */
export function RecordPanel({ id, records, list, back }: RecordPanelProps) {
  const record = [...records, ...(list.data?.records ?? [])].find((each) => each.id === id)
  return (
    <SidePanel title={texts.record} back={back}>
      {record && <Details record={record} />}
      {!record && list.isLoading && <Loading />}
      {!record && !list.isLoading && <Empty title={texts.notListed} text={texts.notListedText} />}
    </SidePanel>
  )
}

const Moment = ({ at }: { readonly at: number }) => (
  <>
    <ExactTime at={at} />{' '}
    <span class="quiet">
      (<Time at={at} />)
    </span>
  </>
)

const Details = ({ record }: { readonly record: AuditRecordView }) => (
  <>
    <p>
      <Sentence record={record} />
    </p>
    <Facts
      facts={[
        [shared.audit.time, <Moment key="time" at={record.time / 1000} />],
        [
          texts.event,
          <span key="event" class="mono">
            {record.event}
          </span>,
        ],
        [
          texts.outcome,
          <Badge key="outcome" tone={record.outcome === 'failure' ? 'danger' : undefined}>
            {texts.outcomes[record.outcome]}
          </Badge>,
        ],
        [
          texts.node,
          <span key="node" class="mono">
            {record.node}
          </span>,
        ],
      ]}
    />
    <Section title={texts.json}>
      <pre class="code">{JSON.stringify(record, undefined, 2)}</pre>
    </Section>
    <p class="quiet small">{texts.chain}</p>
  </>
)
