import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import type { RotationState, RotationStep } from '../../api/types.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { Time } from '../../ui/time.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'

const STEPS: readonly RotationStep[] = ['add', 'activate', 'retire']

interface Rotated {
  readonly done: { readonly kind: 'added' | 'activated' | 'removed' | 'waiting'; readonly file: string }
}

/** Replaces the secret that signs tokens in three steps, in the order in which no valid token is rejected. */
export function Rotation({ rotation, onChange }: { readonly rotation: RotationState; readonly onChange: () => void }) {
  const [isBusy, setBusy] = useState(false)
  const { next, until, problem } = rotation
  const take = async (step: RotationStep) => {
    setBusy(true)
    try {
      const { done } = await api.post<Rotated>('/secrets/rotation', { step })
      notify(texts.secrets.done[done.kind](done.file))
      onChange()
    } catch (error) {
      notifyProblem(error)
    }
    setBusy(false)
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
              {step === 'retire' && step === next && until !== undefined && (
                <p class="quiet">
                  {texts.secrets.until} <Time at={until} />
                </p>
              )}
            </div>
            <Button
              kind={step === next ? 'primary' : 'quiet'}
              isBusy={isBusy && step === next}
              disabled={step !== next || problem !== undefined}
              onClick={() => take(step)}
            >
              {texts.secrets.steps[step].action}
            </Button>
          </li>
        ))}
      </ol>
    </section>
  )
}
