// Times as text.
import { lazy } from './lazy.ts'

const clock = lazy(() => new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' }))
const day = lazy(() => new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' }))

/** The time of day, with the day unless it is today. */
export const toClock = (atSeconds: number): string =>
  new Date(atSeconds * 1000).toDateString() === new Date().toDateString()
    ? clock().format(new Date(atSeconds * 1000))
    : toMoment(atSeconds)

/** The time of day, and at midnight the day. */
export function toTick(atSeconds: number): string {
  const date = new Date(atSeconds * 1000)
  return date.getHours() + date.getMinutes() === 0 ? day().format(date) : clock().format(date)
}

const moment = lazy(
  () => new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }),
)
export const toMoment = (atSeconds: number): string => moment().format(new Date(atSeconds * 1000))
