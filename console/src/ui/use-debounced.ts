import { useEffect, useState } from 'preact/hooks'

/** The value, once it has not changed for a moment. */
export function useDebounced<T>(value: T, pauseMs = 120): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs)
    return () => clearTimeout(timer)
  }, [value, pauseMs])
  return settled
}
