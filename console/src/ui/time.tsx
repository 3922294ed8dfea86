import { useEffect, useState } from 'preact/hooks'
import { toExact, toExactClock, toRelative } from '../times.ts'

const nowSeconds = () => Date.now() / 1000

/** To the second. For lists that are compared with other logs. */
export function ExactTime({ at }: { readonly at: number }) {
  const date = new Date(at * 1000)
  return (
    <time class="exact" dateTime={date.toISOString()} title={toRelative(at, nowSeconds())}>
      {toExactClock(date)}
    </time>
  )
}

/** Relative, with the exact time on hover. Accepts seconds since the epoch or ISO 8601. */
export function Time({ at }: { readonly at: number | string }) {
  const [now, setNow] = useState(nowSeconds)
  useEffect(() => {
    const timer = setInterval(() => setNow(nowSeconds()), 30_000)
    return () => clearInterval(timer)
  }, [])
  const date = new Date(typeof at === 'number' ? at * 1000 : at)
  return (
    <time dateTime={date.toISOString()} title={toExact(date)}>
      {toRelative(date.getTime() / 1000, now)}
    </time>
  )
}
