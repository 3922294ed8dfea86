import { api, type ServerErrorView } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { shared } from '../../texts.ts'
import { ExactTime } from '../../ui/parts.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { texts } from './texts.ts'

interface ServerErrorList {
  readonly node: string
  readonly errors: readonly ServerErrorView[]
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
  const { errorList } = texts
  return (
    <SidePanel title={texts.serverErrors} back={back}>
      <Loaded resource={list} what={errorList.what}>
        {({ node, errors }) =>
          errors.length === 0 ? (
            <Empty title={errorList.none} text={errorList.noneText(node)} />
          ) : (
            <>
              <p class="quiet">{errorList.intro(node)}</p>
              <Table
                caption={texts.serverErrors}
                rows={errors}
                // a client chooses the id of its request, so several may have the same
                keyOf={(error) => String(errors.indexOf(error))}
                columns={[
                  { label: shared.audit.time, render: ({ time }) => <ExactTime at={time / 1000} /> },
                  { label: errorList.request, render: (error) => <FailedRequest error={error} /> },
                ]}
              />
            </>
          )
        }
      </Loaded>
    </SidePanel>
  )
}

const FailedRequest = ({ error }: { readonly error: ServerErrorView }) => {
  const { status, method, path, door, reason, request } = error
  return (
    <div class="two-lines">
      <div class="mono">
        {method} {path}
      </div>
      <div>
        {status}: {reason ?? texts.errorList.byUpstream}
      </div>
      <div class="quiet small">
        {shared.doors[door] ?? door} · {texts.errorList.id} <span class="mono exact">{request}</span>
      </div>
    </div>
  )
}
