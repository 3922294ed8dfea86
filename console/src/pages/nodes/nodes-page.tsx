import { useMemo, useRef } from 'preact/hooks'
import { api, type ServerNodeView } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLive } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import type { PageProps } from '../../frame/page-row.ts'
import { toMilliseconds } from '../../numbers.ts'
import { Badge, Heading, Time } from '../../ui/parts.tsx'
import { Sparkline } from '../../ui/sparkline.tsx'
import { Guide, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { texts } from './texts.ts'

interface NodeList {
  readonly nodes: readonly ServerNodeView[]
}

interface NodeTableProps extends NodeList {
  readonly caption: string
}

/** Every process that uses the same store. */
export function NodesPage({ title }: PageProps) {
  const resource = useResource('nodes', (signal) => api.get<NodeList>('/nodes', {}, signal))
  useLive('overview', resource.reload)
  return (
    <Page>
      <Heading text={texts.text} />
      <Loaded resource={resource} what={texts.what} shape="rows">
        {({ nodes }) => (
          <div class="wide">
            <NodeTable caption={title} nodes={nodes} />
            <p class="quiet after-table">{texts.keysText}</p>
            {nodes.length === 1 && (
              <p class="quiet after-table">
                {texts.single} <Guide path={texts.guide} />
              </p>
            )}
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function NodeTable({ caption, nodes }: NodeTableProps) {
  const lags = useLags(nodes)
  const own = nodes.find(({ isThisNode }) => isThisNode)
  return (
    <Table
      caption={caption}
      rows={nodes}
      keyOf={({ instance }) => instance}
      columns={[
        {
          label: texts.name,
          render: ({ name, isThisNode }) => (
            <span class="row">
              <strong class="mono">{name}</strong>
              {isThisNode && <Badge>{texts.thisNode}</Badge>}
            </span>
          ),
        },
        { label: texts.state, render: (node) => <NodeState node={node} /> },
        { label: texts.version, render: ({ version }) => version },
        { label: texts.started, render: ({ startedAt }) => <Time at={startedAt} /> },
        { label: texts.seen, render: ({ seenAt }) => <Time at={seenAt} /> },
        { label: texts.lag, render: (node) => <Lag node={node} history={lags.get(node.instance) ?? []} /> },
        ...(nodes.some(({ processes }) => processes.length > 1) ? [WORKERS] : []),
        {
          label: texts.keys,
          render: ({ keysHash }) => (
            <span class="row">
              <span class="mono">{keysHash.slice(0, 8)}</span>
              {own && keysHash !== own.keysHash && <Badge tone="danger">{texts.otherKeys}</Badge>}
            </span>
          ),
        },
      ]}
    />
  )
}

/** Only where a node has more than one process. */
const WORKERS = {
  label: texts.workers,
  render: ({ processes }: ServerNodeView) => (
    <>
      {processes.map(({ place, pid, memoryBytes, startedAt, lagMs }) => (
        <div key={place}>
          {texts.worker(place, pid, toMebibytes(memoryBytes))}, {toMilliseconds(lagMs)}, <Time at={startedAt} />
        </div>
      ))}
    </>
  ),
}

const toMebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`

const MAX_LAGS = 40

/** The lag of each node at every report since the page was opened, by instance. */
function useLags(nodes: readonly ServerNodeView[]): ReadonlyMap<string, readonly number[]> {
  const lags = useRef<ReadonlyMap<string, readonly number[]>>(new Map())
  return useMemo(() => {
    const added = nodes.map(
      ({ instance, lagMs }) => [instance, [...(lags.current.get(instance) ?? []), lagMs].slice(-MAX_LAGS)] as const,
    )
    lags.current = new Map(added)
    return lags.current
  }, [nodes])
}

const Lag = ({ node: { lagMs }, history }: Readonly<{ node: ServerNodeView; history: readonly number[] }>) => (
  <span class="trend">
    {history.length > 1 && <Sparkline values={history} label={texts.lagTrend} />}
    {toMilliseconds(lagMs)}
  </span>
)

function NodeState({ node: { isReady, isLost, problems } }: { readonly node: ServerNodeView }) {
  if (isReady) return <Badge tone="success">{texts.ready}</Badge>
  return (
    <span>
      <Badge tone="danger">{isLost ? texts.lost : texts.notReady}</Badge> {problems.join('; ')}
    </span>
  )
}
