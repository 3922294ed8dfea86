import { useContext } from 'preact/hooks'
import { changeQuery } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Found } from '../../ui/parts.tsx'
import type { AuditFilter } from './filter.ts'
import { EventKinds } from './sentence.tsx'

interface FiltersProps {
  readonly filter: AuditFilter
  /** How many records match, in words. */
  readonly found: string | undefined
}

export function Filters({ filter, found }: FiltersProps) {
  const events = useContext(EventKinds).map(({ event, sentence }) => [event, sentence] as const)
  return (
    <search class="toolbar">
      <div class="search">
        <input
          class="input"
          type="search"
          aria-label={texts.audit.user}
          placeholder={texts.audit.user}
          value={filter.user}
          onInput={(event) => changeQuery({ user: event.currentTarget.value, show: undefined })}
        />
      </div>
      <Choice name="range" value={filter.range} options={Object.entries(texts.audit.ranges)} />
      <Choice name="event" value={filter.event} options={[['', texts.audit.allEvents], ...events]} />
      <Choice name="outcome" value={filter.outcome} options={Object.entries(texts.audit.filters)} />
      <Found text={found} />
    </search>
  )
}

interface ChoiceProps {
  readonly name: 'range' | 'event' | 'outcome'
  readonly value: string
  readonly options: readonly (readonly [value: string, label: string])[]
}

const Choice = ({ name, value, options }: ChoiceProps) => (
  <select
    class={`input ${name}`}
    aria-label={texts.audit[name]}
    value={value}
    onChange={(event) => changeQuery({ [name]: event.currentTarget.value, show: undefined })}
  >
    {options.map(([key, label]) => (
      <option key={key} value={key}>
        {label}
      </option>
    ))}
  </select>
)
