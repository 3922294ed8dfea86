import type { ComponentChildren } from 'preact'
import { shared } from '../texts.ts'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'
import { Button } from './parts.tsx'

interface ShownOnceProps {
  readonly title: string
  readonly value: string
  /** The button that closes the dialog. */
  readonly action: string
  readonly onClose: () => void
  /** Buttons beside the one that copies. */
  readonly actions?: ComponentChildren
  /** More about the secret. */
  readonly children?: ComponentChildren
}

/** A new secret, which is never shown again: Escape does not close it. */
export const ShownOnce = ({ title, value, action, onClose, actions, children }: ShownOnceProps) => (
  <Dialog title={title} kind="secret">
    {children}
    <div class="once">
      <output aria-label={title}>{value}</output>
      <div class="row between">
        <span class="quiet small">{shared.states.shownOnce}</span>
        <div class="row">
          {actions}
          <CopyButton text={value} />
        </div>
      </div>
    </div>
    <div class="row end">
      <Button kind="primary" onClick={onClose}>
        {action}
      </Button>
    </div>
  </Dialog>
)
