import { useEffect, useState } from 'preact/hooks'
import { toMessage } from '../api/client.ts'
import { texts } from '../texts.ts'
import { Button } from './button.tsx'
import { Icon } from './icons.tsx'

interface Toast {
  readonly id: number
  readonly text: string
  readonly isProblem: boolean
}

let last = 0
let toasts: readonly Toast[] = []
let onChange = (_toasts: readonly Toast[]) => {}

function replace(next: readonly Toast[]): void {
  toasts = next
  onChange(next)
}

const SHOWN_MS = 6000

function show(text: string, isProblem: boolean): void {
  last += 1
  const id = last
  replace([...toasts.slice(-2), { id, text, isProblem }])
  if (!isProblem) setTimeout(dismiss, SHOWN_MS, id)
}

const dismiss = (id: number): void => replace(toasts.filter((toast) => toast.id !== id))

/** Says what was done. */
export const notify = (text: string): void => show(text, false)

/** Says what failed. It stays until it is closed. */
export const notifyProblem = (error: unknown): void => show(toMessage(error), true)

export function Toasts() {
  const [shown, setShown] = useState(toasts)
  useEffect(() => {
    onChange = setShown
  }, [])
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, isProblem }) => (
        <div key={id} class={`toast ${isProblem ? 'danger' : ''}`}>
          <span>{text}</span>
          <Button kind="icon" aria-label={texts.actions.close} onClick={() => dismiss(id)}>
            <Icon name="close" />
          </Button>
        </div>
      ))}
    </div>
  )
}
