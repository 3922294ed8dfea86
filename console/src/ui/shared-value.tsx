import { useEffect, useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import { Button } from './parts.tsx'

/** A value that a person edits while others may change it. What is typed stays; an untouched field follows. */
export function useSharedValue(current: string) {
  const [value, setValue] = useState(current)
  /** What the change is based on. */
  const [base, setBase] = useState(current)
  const isChanged = value !== current
  const isUntouched = value === base
  useEffect(() => {
    if (isUntouched) setValue(current)
    if (isUntouched || !isChanged) setBase(current)
  }, [current, isChanged])
  const isOverridden = base !== current && isChanged && !isUntouched
  return {
    value,
    setValue,
    base,
    isChanged,
    isOverridden,
    keep: () => setValue(current),
    replace: () => setBase(current),
  }
}

interface OverriddenProps {
  readonly by?: string | undefined
  readonly current: string
  readonly own: string
  readonly onKeep: () => void
  readonly onReplace: () => void
}

/** Another administrator changed the value while this one typed. */
export const Overridden = ({ by, current, own, onKeep, onReplace }: OverriddenProps) => (
  <div class="notice warning stack" role="alert">
    <p>{texts.settings.overridden(by, current || texts.settings.empty)}</p>
    <div class="row">
      <Button onClick={onKeep}>{texts.settings.keep(current || texts.settings.empty)}</Button>
      <Button onClick={onReplace}>{texts.settings.replace(own || texts.settings.empty)}</Button>
    </div>
  </div>
)
