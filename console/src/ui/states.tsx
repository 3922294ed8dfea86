// What a list, a form or a chart shows instead of data.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isStoreDown, isUnreachable, toMessage } from '../api/client.ts'
import type { Resource } from '../api/use-resource.ts'
import { onWaiting } from '../api/waiting.ts'
import { shared } from '../texts.ts'
import { CopyButton } from './copy-button.tsx'
import { Button } from './parts.tsx'

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

interface CommandProps {
  readonly text: string
  /** The file of the documentation that explains it. */
  readonly guide: string
}

/** A command to copy. */
export const Command = ({ text, guide }: CommandProps) => (
  <>
    <div class="row">
      <code>{text}</code>
      <CopyButton text={text} />
    </div>
    <p class="small">
      {shared.states.guide} <Guide path={guide} />
    </p>
  </>
)

const DOCUMENTATION = 'https://github.com/cardea/cardea/blob/main/'

/** A link to a file of the documentation. */
export const Guide = ({ path }: { readonly path: string }) => (
  <a class="guide" href={`${DOCUMENTATION}${path}`} target="_blank" rel="noreferrer">
    {path}
  </a>
)

/** How many bars or boxes stand for what is loading. The style sheet draws them in its shape. */
const SHAPES = { lines: 6, rows: 12, cards: 3, overview: 7 }

type Shape = keyof typeof SHAPES

export const Loading = ({ shape = 'lines' }: { readonly shape?: Shape }) => (
  <div class={`skeleton ${shape}`} role="status" aria-label={shared.states.loading}>
    {Array.from({ length: SHAPES[shape] }, (_, at) => (
      <i key={at} />
    ))}
  </div>
)

/** Above everything, also where no part of the page is loading: a button that was pressed waits, too. */
export function StillWaiting() {
  const [isWaiting, setWaiting] = useState(false)
  const notice = useRef<HTMLParagraphElement>(null)
  useEffect(() => onWaiting(setWaiting), [])
  // a popover, because an open dialog covers everything else
  useEffect(() => notice.current?.showPopover(), [isWaiting])
  return (
    <div role="status">
      {isWaiting && (
        <p class="waiting" popover="manual" ref={notice}>
          {shared.states.waiting}
        </p>
      )}
    </div>
  )
}

/** How many users of all a long operation has dealt with. */
export const Progress = ({ label, done, total }: Readonly<{ label: string; done: number; total: number }>) => (
  <>
    <progress class="progress" max={total} value={done} aria-label={label} />
    <p role="status">{shared.states.progress(done, total)}</p>
  </>
)

interface FailureProps {
  readonly what: string
  readonly error: unknown
  readonly onRetry: () => void
}

/** Says what failed and offers to try again. */
export const Failure = ({ what, error, onRetry }: FailureProps) => (
  <div class="state" role="alert">
    <h2>{shared.states.failed(what)}</h2>
    <p>{toMessage(error)}</p>
    <Scope error={error} />
    <Button onClick={onRetry}>{shared.actions.retry}</Button>
  </div>
)

/** How far the failure reaches. Hidden in a panel where the list beside it says so already. */
function Scope({ error }: { readonly error: unknown }) {
  if (isUnreachable(error)) return null
  return <p class="scope">{isStoreDown(error) ? shared.states.storeDown : shared.states.onlyThis}</p>
}

interface LoadedProps<T> {
  readonly resource: Resource<T>
  /** In a sentence: "The users could not be loaded". */
  readonly what: string
  /** The shape of the page while it is loading. */
  readonly shape?: Shape
  readonly children: (data: T) => ComponentChildren
}

/** Shows the data of a resource, or its loading or error state. */
export function Loaded<T>({ resource, what, shape = 'lines', children }: LoadedProps<T>) {
  if (resource.data !== undefined) return <>{children(resource.data)}</>
  if (resource.error !== undefined) return <Failure what={what} error={resource.error} onRetry={resource.reload} />
  return <Loading shape={shape} />
}
