// Numbers and times as text.

const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
export const toShort = (value: number): string => SHORT.format(value)

const FULL = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
export const toCount = (value: number): string => FULL.format(value)

/** Exact as long as a tile has room for it. */
export const toTotal = (value: number): string => (value < 100_000 ? toCount(value) : toShort(value))

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** The time of day, with the day unless it is today. */
export const toClock = (atSeconds: number): string =>
  new Date(atSeconds * 1000).toDateString() === new Date().toDateString()
    ? CLOCK.format(new Date(atSeconds * 1000))
    : toMoment(atSeconds)

/** The time of day, and at midnight the day. */
export function toTick(atSeconds: number): string {
  const date = new Date(atSeconds * 1000)
  return date.getHours() + date.getMinutes() === 0 ? DAY.format(date) : CLOCK.format(date)
}

const MOMENT = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' })
export const toMoment = (atSeconds: number): string => MOMENT.format(new Date(atSeconds * 1000))
