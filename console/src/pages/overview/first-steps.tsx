import { useState } from 'preact/hooks'
import type { OverviewView } from '../../api/client.ts'
import { Button, Card } from '../../ui/parts.tsx'
import { Guide } from '../../ui/states.tsx'
import { listSteps } from './list-steps.ts'
import { texts } from './texts.ts'

const HIDDEN = 'cardea-first-steps'

/** What is still to do on a new installation. Gone when all is done, or when it is hidden in this browser. */
export function FirstSteps({ overview }: { readonly overview: OverviewView }) {
  const [isHidden, setHidden] = useState(() => localStorage.getItem(HIDDEN) !== null)
  const steps = listSteps(overview, location.protocol === 'https:')
  const done = steps.filter(({ isDone }) => isDone).length
  if (isHidden || done === steps.length) return null
  const hide = () => {
    localStorage.setItem(HIDDEN, '1')
    setHidden(true)
  }
  const { firstSteps } = texts
  return (
    <div class="first-steps">
      <Card
        title={firstSteps.title}
        actions={
          <>
            <span class="quiet small">{firstSteps.count(done, steps.length)}</span>
            <Button kind="quiet" onClick={hide}>
              {firstSteps.hide}
            </Button>
          </>
        }
      >
        <ol>
          {steps.map(({ name, isDone }) => {
            const { title, text, href, guide } = firstSteps.steps[name]
            return (
              <li key={name} class={isDone ? 'done' : ''}>
                <span class="step-tick">
                  <span aria-hidden="true">{isDone ? '✓' : ''}</span>
                  <span class="hidden-label">{isDone ? firstSteps.done : firstSteps.open}</span>
                </span>
                <div>
                  <strong>{href && !isDone ? <a href={href}>{title}</a> : title}</strong>
                  <p class="quiet">{text}</p>
                  {!isDone && <Guide path={guide} />}
                </div>
              </li>
            )
          })}
        </ol>
      </Card>
    </div>
  )
}
