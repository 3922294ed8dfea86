import type { ComponentProps } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from './parts.tsx'
import { notifyProblem } from './toast.tsx'

interface ActionButtonProps extends Omit<ComponentProps<typeof Button>, 'isBusy' | 'onClick'> {
  readonly run: () => Promise<unknown>
}

/** Does something at once. It is busy meanwhile, and a toast says why it failed. */
export function ActionButton({ run, ...button }: ActionButtonProps) {
  const [isBusy, setBusy] = useState(false)
  const act = async () => {
    setBusy(true)
    await run().catch(notifyProblem)
    setBusy(false)
  }
  return <Button {...button} isBusy={isBusy} onClick={act} />
}
