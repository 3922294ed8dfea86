import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { shared } from '../texts.ts'
import { Problem, useSubmit } from './field.tsx'
import { Button } from './parts.tsx'

interface DialogProps {
  readonly title: string
  readonly kind?: 'large' | 'sheet' | 'secret' | 'sign-in'
  /** Left out: only a button in it closes the dialog. */
  readonly onClose?: () => void
  readonly children: ComponentChildren
}

/** A modal dialog. The browser keeps the focus inside and gives it back; Escape closes it. */
export function Dialog({ title, kind, onClose, children }: DialogProps) {
  const id = useId()
  const element = useRef<HTMLDialogElement>(null)
  // before the next key is pressed, which would go to the page
  useLayoutEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  const close = (event: Event) => {
    event.preventDefault()
    onClose?.()
  }
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      class={kind ?? ''}
      closedby={onClose ? 'closerequest' : 'none'}
      onCancel={close}
    >
      <div class="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

interface FormDialogProps extends DialogProps {
  /** The verb, with the object where something is lost: "Delete ada". */
  readonly action: string
  readonly isDanger?: boolean
  readonly isReady?: boolean
  /** The dialog stays open with what was typed if this fails. */
  readonly onSubmit: () => Promise<unknown>
}

/** A dialog that does one thing. The page closes it when that has worked. */
export function FormDialog({ action, isDanger = false, isReady = true, onSubmit, children, ...rest }: FormDialogProps) {
  const { submit, isBusy, problem } = useSubmit(onSubmit)
  return (
    <Dialog {...rest}>
      <form class="stack" onSubmit={submit}>
        {children}
        <div class="row end">
          <Problem text={problem} />
          <Button onClick={rest.onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" kind={isDanger ? 'danger' : 'primary'} isBusy={isBusy} disabled={!isReady}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

interface ReportDialogProps {
  readonly title: string
  readonly rows: readonly (readonly [name: string, problem: string])[]
  readonly onClose: () => void
}

/** What went wrong, and where. */
export const ReportDialog = ({ title, rows, onClose }: ReportDialogProps) => (
  <Dialog title={title} onClose={onClose}>
    <ul class="problems">
      {rows.map(([name, problem]) => (
        <li key={name + problem}>
          <span class="mono">{name}</span> {problem}
        </li>
      ))}
    </ul>
    <div class="row end">
      <Button onClick={onClose}>{shared.actions.close}</Button>
    </div>
  </Dialog>
)
