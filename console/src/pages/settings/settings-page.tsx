import { api, askEarly, type OptionListView, type ServerOptionView } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import { toHref, useRoute } from '../../router.ts'
import { Badge, ButtonLink, Heading } from '../../ui/parts.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Choice, Toolbar } from '../../ui/toolbar.tsx'
import { OptionPanel } from './option-panel.tsx'
import { OptionValue } from './option-value.tsx'
import { texts } from './texts.ts'

askEarly('/options', {})

/** Every option with its value and where that comes from. */
export function SettingsPage() {
  const { path, query } = useRoute()
  const [, name] = path
  const filter = { search: query['search'] ?? '', show: query['show'] ?? '' }
  const resource = useResource('options', (signal) => api.get<OptionListView>('/options', {}, signal))
  useLiveReload(({ event }) => event === 'option.changed' || event === 'configuration.reloaded', resource.reload)
  const found = resource.data?.options.filter((each) => matches(each, filter))
  const option = resource.data?.options.find((each) => each.name === name)
  const back = toHref(['settings'], query)
  return (
    <Page panel={option && <OptionPanel key={name} option={option} back={back} onChange={resource.reload} />}>
      <Heading text={texts.intro} />
      <div class="wide">
        <Toolbar name="search" label={texts.search} value={filter.search} found={found && texts.count(found.length)}>
          <Choice name="show" label={texts.show} value={filter.show} options={Object.entries(texts.filters)} />
        </Toolbar>
        <Loaded resource={resource} what={texts.what} shape="rows">
          {({ sections }) => <Sections sections={sections} options={found ?? []} current={name} query={query} />}
        </Loaded>
      </div>
    </Page>
  )
}

const SHOWN: Readonly<Record<string, (option: ServerOptionView) => boolean>> = {
  changed: ({ source }) => source.kind !== 'default',
  runTime: ({ source }) => source.kind === 'run time',
  waiting: ({ running }) => running !== undefined,
}

function matches(option: ServerOptionView, { search, show }: Readonly<{ search: string; show: string }>): boolean {
  const words = `${option.name} ${option.help} ${option.value}`.toLowerCase()
  return words.includes(search.trim().toLowerCase()) && (SHOWN[show]?.(option) ?? true)
}

interface SectionsProps {
  readonly sections: OptionListView['sections']
  readonly options: readonly ServerOptionView[]
  readonly current: string | undefined
  readonly query: Readonly<Record<string, string>>
}

function Sections({ sections, options, current, query }: SectionsProps) {
  if (options.length === 0) return <NoOptions />
  const shown = sections
    .map((section) => ({ ...section, rows: options.filter((option) => option.section === section.name) }))
    .filter(({ rows }) => rows.length > 0)
  return (
    <>
      <SectionIndex names={shown.map(({ name }) => name)} />
      {shown.map(({ name, help, rows }) => (
        <section key={name} id={toId(name)} class="option-section" aria-label={name}>
          <h2>
            <span class="mono">[{name}]</span> <span class="quiet">{help}</span>
          </h2>
          <Table
            caption={name}
            columns={toColumns(query)}
            rows={rows}
            keyOf={(option) => option.name}
            current={current}
          />
        </section>
      ))}
    </>
  )
}

const toId = (section: string): string => `section-${section}`

/** A link would change the address, which holds the state of the page. */
const SectionIndex = ({ names }: { readonly names: readonly string[] }) => (
  <nav class="chips section-index" aria-label={texts.sections}>
    {names.map((name) => (
      <button
        key={name}
        class="badge mono"
        type="button"
        onClick={() => document.getElementById(toId(name))?.scrollIntoView()}
      >
        {name}
      </button>
    ))}
  </nav>
)

const toColumns = (query: Readonly<Record<string, string>>): readonly Column<ServerOptionView>[] => [
  {
    label: texts.option,
    render: ({ name, key, help }) => (
      <span class="option">
        <a class="name" href={toHref(['settings', name], query)}>
          {key}
        </a>
        <span class="quiet small">{help}</span>
      </span>
    ),
  },
  { label: texts.value, render: (option) => <OptionValue option={option} /> },
  {
    label: texts.source,
    render: ({ source }) =>
      source.kind === 'default' ? (
        <span class="quiet usual">{texts.default}</span>
      ) : (
        <span class="mono">{source.text}</span>
      ),
  },
  {
    label: texts.effect,
    isMinor: true,
    render: ({ effect, running }) =>
      running === undefined && effect === 'live' ? (
        <span class="quiet usual">{texts.effects.live}</span>
      ) : (
        <Badge tone={running === undefined ? undefined : 'warning'}>
          {running === undefined ? texts.effects.restart : texts.waits}
        </Badge>
      ),
  },
]

const NoOptions = () => (
  <div class="card">
    <Empty title={texts.none} text={texts.noneText}>
      <ButtonLink href={toHref(['settings'])}>{texts.showAll}</ButtonLink>
    </Empty>
  </div>
)
