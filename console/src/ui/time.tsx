import { useEffect, useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import { lazy } from './lazy.ts'

const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

const relative = lazy(() => new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' }))
const exact = lazy(() => new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' }))

/** "5 min. ago", "in 2 hr." */
export function toRelative(atSeconds: number, nowSeconds: number): string {
  const distance = atSeconds - nowSeconds
  const unit = UNITS.find(([, seconds]) => Math.abs(distance) >= seconds)
  return unit ? relative().format(Math.trunc(distance / unit[1]), unit[0]) : texts.time.now
}

/** "3 d", "2 h", "5 min", "12 s". */
export function toDuration(seconds: number): string {
  const [size, unit] = DURATIONS.find(([each]) => seconds >= each) ?? [1, texts.time.seconds]
  return `${Math.floor(seconds / size)} ${unit}`
}

const DURATIONS: readonly (readonly [number, string])[] = [
  [86_400, texts.time.days],
  [3600, texts.time.hours],
  [60, texts.time.minutes],
]

const clock = lazy(() => new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' }))
const isToday = (date: Date): boolean => date.toDateString() === new Date().toDateString()

/** To the second, with the day unless it is today. For lists that are compared with other logs. */
export function ExactTime({ at }: { readonly at: number }) {
  const date = new Date(at * 1000)
  return (
    <time class="exact" dateTime={date.toISOString()} title={toRelative(at, nowSeconds())}>
      {isToday(date) ? clock().format(date) : exact().format(date)}
    </time>
  )
}

const nowSeconds = () => Date.now() / 1000

/** Relative, with the exact time on hover. Accepts seconds since the epoch or ISO 8601. */
export function Time({ at }: { readonly at: number | string }) {
  const [now, setNow] = useState(nowSeconds)
  useEffect(() => {
    const timer = setInterval(() => setNow(nowSeconds()), 30_000)
    return () => clearInterval(timer)
  }, [])
  const date = new Date(typeof at === 'number' ? at * 1000 : at)
  return (
    <time dateTime={date.toISOString()} title={exact().format(date)}>
      {toRelative(date.getTime() / 1000, now)}
    </time>
  )
}
