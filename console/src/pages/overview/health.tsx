import { useState } from 'preact/hooks'
import {
  api,
  type Line,
  type Overview,
  type OverviewHealth,
  type RecordedCommand,
  type Verification as Verified,
} from '../../api/client.ts'
import { toCount } from '../../numbers.ts'
import { texts } from '../../texts.ts'
import { toDuration } from '../../times.ts'
import { ActionButton } from '../../ui/action-button.tsx'
import { ReportDialog } from '../../ui/dialog.tsx'
import { Badge, Card, type Fact, Time } from '../../ui/parts.tsx'
import { Empty } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { toPartLabel } from './part.ts'

const sum = (line: Line = []): number => line.reduce<number>((total, value) => total + (value ?? 0), 0)

/** Handlers of both doors that read the same kind of credential have one name. */
function sumByName(lines: Readonly<Record<string, Line>>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const [handler, line] of Object.entries(lines)) {
    const name = texts.overview.handlerNames[handler] ?? handler
    sums.set(name, (sums.get(name) ?? 0) + sum(line))
  }
  return sums
}

/** Sign-ins and refusals by the kind of credential. */
export function Handlers({ overview: { series }, range }: { readonly overview: Overview; readonly range: string }) {
  const accepted = sumByName(series.signInsByHandler)
  const refused = sumByName(series.refusalsByHandler)
  const rows = [...new Set([...accepted.keys(), ...refused.keys()])]
    .map((name) => ({ name, accepted: accepted.get(name) ?? 0, refused: refused.get(name) ?? 0 }))
    .filter(({ accepted, refused }) => accepted + refused > 0)
    .sort((a, b) => b.accepted + b.refused - a.accepted - a.refused)
  const { overview } = texts
  return (
    <Card title={overview.handlers} actions={<span class="quiet small">{range}</span>}>
      {rows.length === 0 ? (
        <Empty title={overview.noSignIns} text={overview.noSignInsText} />
      ) : (
        <Table
          caption={overview.handlers}
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            { label: overview.handler, render: ({ name }) => name },
            { label: overview.signIns, kind: 'number', render: ({ accepted }) => toCount(accepted) },
            { label: overview.refusals, kind: 'number', render: ({ refused }) => toCount(refused) },
          ]}
        />
      )}
    </Card>
  )
}

const PART_TONES = { warning: 'warning', failed: 'danger' } as const

export function HealthFacts({ health, onChange }: Readonly<{ health: OverviewHealth; onChange: () => void }>) {
  const { overview } = texts
  const facts: readonly Fact[] = [
    ...health.parts.map(
      ({ name, state }): Fact => [
        toPartLabel(name),
        state === 'ok' ? overview.works : <Badge tone={PART_TONES[state]}>{overview.partStates[state]}</Badge>,
      ],
    ),
    [overview.engine, health.store],
    [overview.nodes, health.nodes ? overview.nodesReady(health.nodes.ready, health.nodes.total) : overview.unknown],
    ...health.certificates.map(
      ({ listener, expiresAt }): Fact => [
        overview.certificate,
        <>
          <span class="mono">{listener}</span> {overview.ends} <Time at={expiresAt} />
        </>,
      ],
    ),
    [overview.backup, health.lastBackup ? <Time at={health.lastBackup.at} /> : texts.time.never],
    [overview.verification, <Verification key="verification" last={health.lastVerification} onChange={onChange} />],
    ...health.secrets.map(
      ({ option, ageSeconds }): Fact => [
        overview.secret,
        <>
          <span class="mono">{option}</span> {overview.age(toDuration(ageSeconds))}
        </>,
      ],
    ),
  ]
  return (
    <section class="card health" aria-label={overview.health}>
      <h2>{overview.health}</h2>
      <dl>
        {facts.map(([label, value], index) => (
          <div key={`${label} ${index}`}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

/** When the audit trail was last verified, and a button that does it now. */
function Verification({ last, onChange }: Readonly<{ last: RecordedCommand | null; onChange: () => void }>) {
  const [findings, setFindings] = useState<Verified['findings']>([])
  const verify = async () => {
    const verified = await api.post<Verified>('/audit/verification')
    setFindings(verified.findings)
    if (verified.findings.length === 0) notify(texts.overview.verified(verified.records))
    onChange()
  }
  return (
    <>
      {last ? <Time at={last.at} /> : texts.time.never}{' '}
      {last?.findings ? <Badge tone="danger">{texts.overview.changes(last.findings)}</Badge> : null}{' '}
      <ActionButton kind="quiet" run={verify}>
        {texts.overview.verify}
      </ActionButton>
      {findings.length > 0 && (
        <ReportDialog
          title={texts.overview.changedTrail(findings.length).title}
          rows={findings.map(({ node, message }) => [node, message])}
          onClose={() => setFindings([])}
        />
      )}
    </>
  )
}
