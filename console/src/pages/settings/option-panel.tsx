import type { ServerOptionView } from '../../api/client.ts'
import { shared } from '../../texts.ts'
import { Badge, type Fact, Facts, Section, Time } from '../../ui/parts.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { ChangeOption } from './change-option.tsx'
import { OptionValue } from './option-value.tsx'
import { texts } from './texts.ts'

interface OptionPanelProps {
  readonly option: ServerOptionView
  readonly back: string
  readonly onChange: () => void
}

/** One option: what it means, its value, and a form that shows the effect of a change before it is made. */
export function OptionPanel({ option, back, onChange }: OptionPanelProps) {
  const { name, help, details, fixed, effect } = option
  return (
    <SidePanel title={name} badges={<Badge>{texts.effects[effect]}</Badge>} back={back}>
      <p>
        {help} {details}
      </p>
      <Facts facts={listFacts(option)} />
      <Section title={texts.change}>
        {fixed === undefined ? (
          <ChangeOption option={option} onChange={onChange} />
        ) : (
          <p class="quiet">{texts.fixed(fixed)}</p>
        )}
      </Section>
    </SidePanel>
  )
}

function listFacts(option: ServerOptionView): readonly Fact[] {
  const { default: initial, source, changedAt, running, expects } = option
  const facts: readonly (Fact | undefined)[] = [
    [texts.value, <OptionValue key="value" option={option} />],
    running === undefined
      ? undefined
      : [
          texts.running,
          <span key="running" class="mono">
            {running}
          </span>,
        ],
    [
      texts.source,
      <span key="source" class="mono">
        {source.kind === 'default' ? texts.default : source.text}
      </span>,
    ],
    changedAt === undefined ? undefined : [texts.changed, <Time key="changed" at={changedAt} />],
    [
      texts.defaultValue,
      <span key="default" class="mono">
        {initial || shared.sharedValue.empty}
      </span>,
    ],
    [texts.expects, expects],
  ]
  return facts.filter((fact) => fact !== undefined)
}
