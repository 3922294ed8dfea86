import { useEffect, useState } from 'preact/hooks'
import { api, type RotationState, type RotationStep } from '../../api/client.ts'
import { texts } from '../../texts.ts'
import { toClock } from '../../times.ts'
import { ActionButton } from '../../ui/action-button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Button } from '../../ui/parts.tsx'
import { notify } from '../../ui/toast.tsx'

const STEPS: readonly RotationStep[] = ['add', 'activate', 'retire']

interface Rotated {
  readonly done: { readonly kind: 'added' | 'activated' | 'removed' | 'waiting'; readonly file: string }
}

/** Replaces the secret that signs tokens in three steps, in the order in which no valid token is rejected. */
export function Rotation({ rotation, onChange }: { readonly rotation: RotationState; readonly onChange: () => void }) {
  const { next, until = 0, problem } = rotation
  const isWaiting = useIsBefore(until)
  const take = async (step: RotationStep, force = false) => {
    const { done } = await api.post<Rotated>('/secrets/rotation', { step, force })
    notify(texts.secrets.done[done.kind](done.file))
    onChange()
  }
  return (
    <section class="rotation" aria-label={texts.secrets.rotation}>
      <h3>{texts.secrets.rotation}</h3>
      {problem !== undefined && <p class="quiet">{problem}</p>}
      <ol>
        {STEPS.map((step) => (
          <li key={step} aria-current={step === next ? 'step' : undefined}>
            <div>
              <strong>{texts.secrets.steps[step].title}</strong>
              <p class="quiet">{texts.secrets.steps[step].text}</p>
            </div>
            <div class="row">
              {step === 'retire' && step === next && isWaiting && <RetireNow onRetire={() => take(step, true)} />}
              <ActionButton
                kind={step === next ? 'primary' : 'quiet'}
                disabled={step !== next || problem !== undefined || (step === 'retire' && isWaiting)}
                run={() => take(step)}
              >
                {texts.secrets.steps[step].action}
                {step === 'retire' && step === next && isWaiting && ` (${texts.secrets.from} ${toClock(until)})`}
              </ActionButton>
            </div>
          </li>
        ))}
      </ol>
    </section>
  )
}

const MAX_TIMER_MS = 2 ** 31 - 1

/** Whether this time is still to come. Changes by itself when it has come. */
function useIsBefore(atSeconds: number): boolean {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const leftMs = atSeconds * 1000 - Date.now()
    if (leftMs <= 0 || leftMs > MAX_TIMER_MS) return
    const timer = setTimeout(() => setNow(Date.now()), leftMs + 100)
    return () => clearTimeout(timer)
  }, [atSeconds])
  return atSeconds * 1000 > Math.max(now, Date.now())
}

/** For a secret that has leaked: its tokens must not stay valid until they expire. */
function RetireNow({ onRetire }: { readonly onRetire: () => Promise<void> }) {
  const [isOpen, setOpen] = useState(false)
  const { retireNow } = texts.secrets
  return (
    <>
      <Button kind="quiet" onClick={() => setOpen(true)}>
        {retireNow.open}
      </Button>
      {isOpen && (
        <FormDialog
          title={retireNow.title}
          action={retireNow.title}
          isDanger
          onClose={() => setOpen(false)}
          onSubmit={onRetire}
        >
          <p>{retireNow.text}</p>
        </FormDialog>
      )}
    </>
  )
}
