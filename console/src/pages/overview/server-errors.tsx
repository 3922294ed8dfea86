import { api, type ServerError } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { texts } from '../../texts.ts'
import { ExactTime } from '../../ui/parts.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'

interface ServerErrorList {
  readonly node: string
  readonly errors: readonly ServerError[]
}

interface ServerErrorsProps {
  readonly back: string
  /** Loaded again with every other number of errors. */
  readonly version: number
}

/** The last failures of the node that serves this page. */
export function ServerErrors({ back, version }: ServerErrorsProps) {
  const list = useResource(
    `server errors ${version}`,
    (signal) => api.get<ServerErrorList>('/server-errors', {}, signal),
    { keepsLast: true },
  )
  const { serverErrors } = texts
  return (
    <SidePanel title={texts.overview.serverErrors} back={back}>
      <Loaded resource={list} what={serverErrors.what}>
        {({ node, errors }) =>
          errors.length === 0 ? (
            <Empty title={serverErrors.none} text={serverErrors.noneText(node)} />
          ) : (
            <>
              <p class="quiet">{serverErrors.intro(node)}</p>
              <Table
                caption={texts.overview.serverErrors}
                rows={errors}
                keyOf={({ request }) => request}
                columns={[
                  { label: texts.audit.time, render: ({ time }) => <ExactTime at={time / 1000} /> },
                  { label: serverErrors.request, render: (error) => <FailedRequest error={error} /> },
                ]}
              />
            </>
          )
        }
      </Loaded>
    </SidePanel>
  )
}

const FailedRequest = ({ error }: { readonly error: ServerError }) => {
  const { status, method, path, door, reason, request } = error
  return (
    <div class="two-lines">
      <div class="mono">
        {method} {path}
      </div>
      <div>
        {status}: {reason ?? texts.serverErrors.byUpstream}
      </div>
      <div class="quiet small">
        {texts.doors[door] ?? door} · {texts.serverErrors.id} <span class="mono exact">{request}</span>
      </div>
    </div>
  )
}
