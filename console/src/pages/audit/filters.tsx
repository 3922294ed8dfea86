import { useContext } from 'preact/hooks'
import { texts } from '../../texts.ts'
import { Choice, Toolbar } from '../../ui/toolbar.tsx'
import type { AuditFilter } from './filter.ts'
import { EventKinds } from './sentence.tsx'

interface FiltersProps {
  readonly filter: AuditFilter
  /** How many records match, in words. */
  readonly found: string | undefined
}

export function Filters({ filter: { user, range, event, outcome }, found }: FiltersProps) {
  const { audit } = texts
  const events = useContext(EventKinds).map((kind) => [kind.event, kind.sentence] as const)
  return (
    <Toolbar name="user" label={audit.user} value={user} found={found}>
      <Choice name="range" label={audit.range} value={range} options={Object.entries(audit.ranges)} />
      <Choice name="event" label={audit.event} value={event} options={[['', audit.allEvents], ...events]} />
      <Choice name="outcome" label={audit.outcome} value={outcome} options={Object.entries(audit.filters)} />
    </Toolbar>
  )
}
