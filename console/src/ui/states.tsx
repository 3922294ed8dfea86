// What a list, a form or a chart shows instead of data.
import type { ComponentChildren } from 'preact'
import { isStoreDown, isUnreachable, toMessage } from '../api/client.ts'
import type { Resource } from '../api/use-resource.ts'
import { texts } from '../texts.ts'
import { Button } from './button.tsx'

interface EmptyProps {
  readonly title: string
  readonly text?: string | undefined
  readonly children?: ComponentChildren
}

/** Explains what this place shows and how to add the first entry. */
export const Empty = ({ title, text, children }: EmptyProps) => (
  <div class="state">
    <h2>{title}</h2>
    {text && <p>{text}</p>}
    {children}
  </div>
)

const LINES = [1, 2, 3, 4, 5, 6]

export const Loading = () => (
  <div class="skeleton" role="status" aria-label={texts.states.loading}>
    {LINES.map((line) => (
      <i key={line} />
    ))}
  </div>
)

interface FailureProps {
  readonly what: string
  readonly error: unknown
  readonly onRetry: () => void
}

/** Says what failed and offers to try again. */
export const Failure = ({ what, error, onRetry }: FailureProps) => (
  <div class="state" role="alert">
    <h2>{texts.states.failed(what)}</h2>
    <p>{toMessage(error)}</p>
    <Scope error={error} />
    <Button onClick={onRetry}>{texts.actions.retry}</Button>
  </div>
)

/** How far the failure reaches. Hidden in a panel where the list beside it says so already. */
function Scope({ error }: { readonly error: unknown }) {
  if (isUnreachable(error)) return null
  return <p class="scope">{isStoreDown(error) ? texts.states.storeDown : texts.states.onlyThis}</p>
}

interface LoadedProps<T> {
  readonly resource: Resource<T>
  /** In a sentence: "The users could not be loaded". */
  readonly what: string
  readonly children: (data: T) => ComponentChildren
}

/** Shows the data of a resource, or its loading or error state. */
export function Loaded<T>({ resource, what, children }: LoadedProps<T>) {
  if (resource.data !== undefined) return <>{children(resource.data)}</>
  if (resource.error !== undefined) return <Failure what={what} error={resource.error} onRetry={resource.reload} />
  return <Loading />
}
