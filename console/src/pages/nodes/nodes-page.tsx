import { useMemo, useRef } from 'preact/hooks'
import { api, type ServerNode } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLive } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import { toMilliseconds } from '../../numbers.ts'
import { texts } from '../../texts.ts'
import { Badge, Heading, Time } from '../../ui/parts.tsx'
import { Sparkline } from '../../ui/sparkline.tsx'
import { Guide, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'

interface NodeList {
  readonly nodes: readonly ServerNode[]
}

/** Every process that uses the same store. */
export function NodesPage() {
  const resource = useResource('nodes', (signal) => api.get<NodeList>('/nodes', {}, signal))
  useLive('overview', resource.reload)
  return (
    <Page>
      <Heading text={texts.nodes.text} />
      <Loaded resource={resource} what={texts.nodes.what} shape="rows">
        {({ nodes }) => (
          <div class="wide">
            <NodeTable nodes={nodes} />
            <p class="quiet after-table">{texts.nodes.keysText}</p>
            {nodes.length === 1 && (
              <p class="quiet after-table">
                {texts.nodes.single} <Guide path={texts.nodes.guide} />
              </p>
            )}
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function NodeTable({ nodes }: NodeList) {
  const lags = useLags(nodes)
  const own = nodes.find(({ isThisNode }) => isThisNode)
  return (
    <Table
      caption={texts.pages.nodes}
      rows={nodes}
      keyOf={({ instance }) => instance}
      columns={[
        {
          label: texts.nodes.name,
          render: ({ name, isThisNode }) => (
            <span class="row">
              <strong class="mono">{name}</strong>
              {isThisNode && <Badge>{texts.nodes.thisNode}</Badge>}
            </span>
          ),
        },
        { label: texts.nodes.state, render: (node) => <NodeState node={node} /> },
        { label: texts.nodes.version, render: ({ version }) => version },
        { label: texts.nodes.started, render: ({ startedAt }) => <Time at={startedAt} /> },
        { label: texts.nodes.seen, render: ({ seenAt }) => <Time at={seenAt} /> },
        { label: texts.nodes.lag, render: (node) => <Lag node={node} history={lags.get(node.instance) ?? []} /> },
        {
          label: texts.nodes.keys,
          render: ({ keysHash }) => (
            <span class="row">
              <span class="mono">{keysHash.slice(0, 8)}</span>
              {own && keysHash !== own.keysHash && <Badge tone="danger">{texts.nodes.otherKeys}</Badge>}
            </span>
          ),
        },
      ]}
    />
  )
}

const MAX_LAGS = 40

/** The lag of each node at every report since the page was opened, by instance. */
function useLags(nodes: readonly ServerNode[]): ReadonlyMap<string, readonly number[]> {
  const lags = useRef<ReadonlyMap<string, readonly number[]>>(new Map())
  return useMemo(() => {
    const added = nodes.map(
      ({ instance, lagMs }) => [instance, [...(lags.current.get(instance) ?? []), lagMs].slice(-MAX_LAGS)] as const,
    )
    lags.current = new Map(added)
    return lags.current
  }, [nodes])
}

const Lag = ({ node: { lagMs }, history }: Readonly<{ node: ServerNode; history: readonly number[] }>) => (
  <span class="trend">
    {history.length > 1 && <Sparkline values={history} label={texts.nodes.lagTrend} />}
    {toMilliseconds(lagMs)}
  </span>
)

function NodeState({ node: { isReady, isLost, problems } }: { readonly node: ServerNode }) {
  if (isReady) return <Badge tone="success">{texts.nodes.ready}</Badge>
  return (
    <span>
      <Badge tone="danger">{isLost ? texts.nodes.lost : texts.nodes.notReady}</Badge> {problems.join('; ')}
    </span>
  )
}
