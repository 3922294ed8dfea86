import type { AuditList, AuditRecord } from '../../api/client.ts'
import type { Resource } from '../../api/use-resource.ts'
import { texts } from '../../texts.ts'
import { Badge, ExactTime, Facts, Section, Time } from '../../ui/parts.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, Loading } from '../../ui/states.tsx'
import { Sentence } from './sentence.tsx'

interface RecordPanelProps {
  readonly id: string
  /** Records that arrived after the list was loaded. */
  readonly records: readonly AuditRecord[]
  readonly list: Resource<AuditList>
  readonly back: string
}

/** One record of the list, with every field. */
export function RecordPanel({ id, records, list, back }: RecordPanelProps) {
  const record = [...records, ...(list.data?.records ?? [])].find((each) => each.id === id)
  return (
    <SidePanel title={texts.audit.record} back={back}>
      {record && <Details record={record} />}
      {!record && list.isLoading && <Loading />}
      {!record && !list.isLoading && <Empty title={texts.audit.notListed} text={texts.audit.notListedText} />}
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

const Details = ({ record }: { readonly record: AuditRecord }) => (
  <>
    <p>
      <Sentence record={record} />
    </p>
    <Facts
      facts={[
        [texts.audit.time, <Moment key="time" at={record.time / 1000} />],
        [
          texts.audit.event,
          <span key="event" class="mono">
            {record.event}
          </span>,
        ],
        [
          texts.audit.outcome,
          <Badge key="outcome" tone={record.outcome === 'failure' ? 'danger' : undefined}>
            {texts.audit.outcomes[record.outcome]}
          </Badge>,
        ],
        [
          texts.audit.node,
          <span key="node" class="mono">
            {record.node}
          </span>,
        ],
      ]}
    />
    <Section title={texts.audit.json}>
      <pre class="code">{JSON.stringify(record, undefined, 2)}</pre>
    </Section>
    <p class="quiet small">{texts.audit.chain}</p>
  </>
)
