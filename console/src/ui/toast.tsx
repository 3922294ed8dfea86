import { useEffect, useRef, useState } from 'preact/hooks'
import { toMessage } from '../api/client.ts'
import { useRoute } from '../router.ts'
import { shared } from '../texts.ts'
import { Icon } from './icons.tsx'
import { Button } from './parts.tsx'

interface Toast {
  readonly id: number
  readonly text: string
  readonly isProblem: boolean
  readonly undo?: Undo | undefined
}

/** Reverses what was done. */
type Undo = () => Promise<unknown>

let last = 0
let toasts: readonly Toast[] = []
let onChange = (_toasts: readonly Toast[]) => {}

function replace(next: readonly Toast[]): void {
  toasts = next
  onChange(next)
}

const SHOWN_MS = 6000
const UNDO_MS = 20_000

function show(toast: Omit<Toast, 'id'>): void {
  last += 1
  const id = last
  replace([...toasts.slice(-2), { id, ...toast }])
  if (!toast.isProblem) setTimeout(dismiss, toast.undo ? UNDO_MS : SHOWN_MS, id)
}

const dismiss = (id: number): void => replace(toasts.filter((toast) => toast.id !== id))

/** Shows what was done, and offers to undo it where that is possible. */
export const notify = (text: string, undo?: Undo): void => show({ text, isProblem: false, undo })

const KEPT = 'cardea-notice'

/** Shows the text after the page was loaded again. */
export const notifyAfterReload = (text: string): void => sessionStorage.setItem(KEPT, text)

function notifyKept(): void {
  const text = sessionStorage.getItem(KEPT)
  sessionStorage.removeItem(KEPT)
  if (text !== null) notify(text)
}

/** Shows what failed, until the user closes it. */
export const notifyProblem = (error: unknown): void => show({ text: toMessage(error), isProblem: true })

export function Toasts() {
  const [shown, setShown] = useState(toasts)
  useEffect(() => {
    onChange = setShown
    notifyKept()
  }, [])
  const [page] = useRoute().path
  const shownOn = useRef(page)
  useEffect(() => {
    if (shownOn.current !== page) replace([])
    shownOn.current = page
  }, [page])
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, isProblem, undo }) => (
        <div key={id} class={`toast ${isProblem ? 'danger' : ''}`}>
          <span>{text}</span>
          {undo && <UndoButton onUndo={() => [dismiss(id), undo().catch(notifyProblem)]} />}
          <Button kind="icon" aria-label={shared.actions.close} onClick={() => dismiss(id)}>
            <Icon name="close" />
          </Button>
        </div>
      ))}
    </div>
  )
}

const UndoButton = ({ onUndo }: { readonly onUndo: () => unknown }) => (
  <Button onClick={onUndo}>{shared.actions.undo}</Button>
)
