import { useState } from 'preact/hooks'
import {
  api,
  type LineView,
  type OverviewHealthView,
  type OverviewView,
  type RecordedCommandView,
  type VerificationView,
} from '../../api/client.ts'
import { toCount } from '../../numbers.ts'
import { shared } from '../../texts.ts'
import { toDuration } from '../../times.ts'
import { ActionButton } from '../../ui/action-button.tsx'
import { ReportDialog } from '../../ui/dialog.tsx'
import { Badge, Card, type Fact, Time } from '../../ui/parts.tsx'
import { Empty } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { toPartLabel } from './part.ts'
import { texts } from './texts.ts'

const sum = (line: LineView = []): number => line.reduce<number>((total, value) => total + (value ?? 0), 0)

/** Handlers of both doors that read the same kind of credential have one name. */
function sumByName(lines: Readonly<Record<string, LineView>>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const [handler, line] of Object.entries(lines)) {
    const name = texts.handlerNames[handler] ?? handler
    sums.set(name, (sums.get(name) ?? 0) + sum(line))
  }
  return sums
}

/** Sign-ins and refusals by the kind of credential. */
export function Handlers({ overview: { series }, range }: { readonly overview: OverviewView; readonly range: string }) {
  const accepted = sumByName(series.signInsByHandler)
  const refused = sumByName(series.refusalsByHandler)
  const rows = [...new Set([...accepted.keys(), ...refused.keys()])]
    .map((name) => ({ name, accepted: accepted.get(name) ?? 0, refused: refused.get(name) ?? 0 }))
    .filter(({ accepted, refused }) => accepted + refused > 0)
    .sort((a, b) => b.accepted + b.refused - a.accepted - a.refused)
  return (
    <Card title={texts.handlers} actions={<span class="quiet small">{range}</span>}>
      {rows.length === 0 ? (
        <Empty title={texts.noSignIns} text={texts.noSignInsText} />
      ) : (
        <Table
          caption={texts.handlers}
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            { label: texts.handler, render: ({ name }) => name },
            { label: texts.signIns, kind: 'number', render: ({ accepted }) => toCount(accepted) },
            { label: texts.refusals, kind: 'number', render: ({ refused }) => toCount(refused) },
          ]}
        />
      )}
    </Card>
  )
}

const PART_TONES = { warning: 'warning', failed: 'danger' } as const

export function HealthFacts({ health, onChange }: Readonly<{ health: OverviewHealthView; onChange: () => void }>) {
  const facts: readonly Fact[] = [
    ...health.parts.map(
      ({ name, state }): Fact => [
        toPartLabel(name),
        state === 'ok' ? texts.works : <Badge tone={PART_TONES[state]}>{texts.partStates[state]}</Badge>,
      ],
    ),
    [texts.engine, health.store],
    [texts.nodes, health.nodes ? texts.nodesReady(health.nodes.ready, health.nodes.total) : texts.unknown],
    ...health.certificates.map(
      ({ listener, expiresAt }): Fact => [
        texts.certificate,
        <>
          <span class="mono">{listener}</span> {texts.ends} <Time at={expiresAt} />
        </>,
      ],
    ),
    [texts.backup, health.lastBackup ? <Time at={health.lastBackup.at} /> : shared.time.never],
    [texts.verification, <Verification key="verification" last={health.lastVerification} onChange={onChange} />],
    ...health.secrets.map(
      ({ option, ageSeconds }): Fact => [
        texts.secret,
        <>
          <span class="mono">{option}</span> {texts.age(toDuration(ageSeconds))}
        </>,
      ],
    ),
  ]
  return (
    <section class="card health" aria-label={texts.health}>
      <h2>{texts.health}</h2>
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
function Verification({ last, onChange }: Readonly<{ last: RecordedCommandView | null; onChange: () => void }>) {
  const [findings, setFindings] = useState<VerificationView['findings']>([])
  const verify = async () => {
    const verified = await api.post<VerificationView>('/audit/verification')
    setFindings(verified.findings)
    if (verified.findings.length === 0) notify(texts.verified(verified.records))
    onChange()
  }
  return (
    <>
      {last ? <Time at={last.at} /> : shared.time.never}{' '}
      {last?.findings ? <Badge tone="danger">{texts.changes(last.findings)}</Badge> : null}{' '}
      <ActionButton kind="quiet" run={verify}>
        {texts.verify}
      </ActionButton>
      {findings.length > 0 && (
        <ReportDialog
          title={texts.changedTrail(findings.length).title}
          rows={findings.map(({ node, message }) => [node, message])}
          onClose={() => setFindings([])}
        />
      )}
    </>
  )
}
