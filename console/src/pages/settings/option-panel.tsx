import type { ServerOption } from '../../api/client.ts'
import { texts } from '../../texts.ts'
import { Badge, type Fact, Facts, Section, Time } from '../../ui/parts.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { ChangeOption } from './change-option.tsx'
import { OptionValue } from './option-value.tsx'

interface OptionPanelProps {
  readonly option: ServerOption
  readonly back: string
  readonly onChange: () => void
}

/** One option: what it means, its value, and a form that shows the effect of a change before it is made. */
export function OptionPanel({ option, back, onChange }: OptionPanelProps) {
  const { name, help, details, fixed, effect } = option
  return (
    <SidePanel title={name} badges={<Badge>{texts.settings.effects[effect]}</Badge>} back={back}>
      <p>
        {help} {details}
      </p>
      <Facts facts={listFacts(option)} />
      <Section title={texts.settings.change}>
        {fixed === undefined ? (
          <ChangeOption option={option} onChange={onChange} />
        ) : (
          <p class="quiet">{texts.settings.fixed(fixed)}</p>
        )}
      </Section>
    </SidePanel>
  )
}

function listFacts(option: ServerOption): readonly Fact[] {
  const { settings } = texts
  const { default: initial, source, changedAt, running, expects } = option
  const facts: readonly (Fact | undefined)[] = [
    [settings.value, <OptionValue key="value" option={option} />],
    running === undefined
      ? undefined
      : [
          settings.running,
          <span key="running" class="mono">
            {running}
          </span>,
        ],
    [
      settings.source,
      <span key="source" class="mono">
        {source.kind === 'default' ? settings.default : source.text}
      </span>,
    ],
    changedAt === undefined ? undefined : [settings.changed, <Time key="changed" at={changedAt} />],
    [
      settings.defaultValue,
      <span key="default" class="mono">
        {initial || settings.empty}
      </span>,
    ],
    [settings.expects, expects],
  ]
  return facts.filter((fact) => fact !== undefined)
}
