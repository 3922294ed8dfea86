import { useEffect, useState } from 'preact/hooks'
import { shared } from '../texts.ts'
import { Button } from './parts.tsx'

/** A value that a person edits while others may change it. What is typed stays; an untouched field follows. */
export function useSharedValue(current: string) {
  const [value, setValue] = useState(current)
  /** What the change is based on. */
  const [base, setBase] = useState(current)
  /** The value before the one that was saved, which is shown until it is loaded again. */
  const [stale, setStale] = useState<string>()
  const isChanged = value !== current
  const isUntouched = value === base
  useEffect(() => {
    if (isUntouched) setValue(current)
    if (isUntouched || !isChanged) setBase(current)
  }, [current, isChanged])
  useEffect(() => setStale(undefined), [current])
  const isOverridden = base !== current && current !== stale && isChanged && !isUntouched
  return {
    value,
    setValue,
    base,
    isChanged,
    isOverridden,
    keep: () => setValue(current),
    replace: () => setBase(current),
    /** The server has the value: what is typed next is based on it, also before it is loaded again. */
    setSaved: () => {
      setBase(value)
      setStale(current)
    },
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
    <p>{shared.sharedValue.overridden(by, current || shared.sharedValue.empty)}</p>
    <div class="row">
      <Button onClick={onKeep}>{shared.sharedValue.keep(current || shared.sharedValue.empty)}</Button>
      <Button onClick={onReplace}>{shared.sharedValue.replace(own || shared.sharedValue.empty)}</Button>
    </div>
  </div>
)
