// Times as text, in English. Without `Intl`, whose first use on a page takes 30 ms or more: the browser loads its tables.
import { shared } from './texts.ts'

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sept', 'Oct', 'Nov', 'Dec']

const toTwoDigits = (value: number): string => String(value).padStart(2, '0')
const toDate = (atSeconds: number): Date => new Date(atSeconds * 1000)
const toDay = (date: Date): string => `${date.getDate()} ${MONTHS[date.getMonth()]}`
const toMinute = (date: Date): string => `${toTwoDigits(date.getHours())}:${toTwoDigits(date.getMinutes())}`
const toSecond = (date: Date): string => `${toMinute(date)}:${toTwoDigits(date.getSeconds())}`
const isToday = (date: Date): boolean => date.toDateString() === new Date().toDateString()

/** 17 Nov 2026, 09:04:33 */
export const toExact = (date: Date): string => `${toDay(date)} ${date.getFullYear()}, ${toSecond(date)}`

/** To the second, with the day unless it is today. */
export const toExactClock = (date: Date): string => (isToday(date) ? toSecond(date) : toExact(date))

/** 17 Nov, 09:04 */
export const toMoment = (atSeconds: number): string => `${toDay(toDate(atSeconds))}, ${toMinute(toDate(atSeconds))}`

/** The time of day, with the day unless it is today. */
export const toClock = (atSeconds: number): string =>
  isToday(toDate(atSeconds)) ? toMinute(toDate(atSeconds)) : toMoment(atSeconds)

/** The time of day, and at midnight the day. */
export function toTick(atSeconds: number): string {
  const date = toDate(atSeconds)
  return date.getHours() + date.getMinutes() === 0 ? toDay(date) : toMinute(date)
}

const UNITS: readonly (readonly [size: number, unit: string, units: string])[] = [
  [31_536_000, 'yr.', 'yr.'],
  [2_592_000, 'mo.', 'mo.'],
  [86_400, 'day', 'days'],
  [3600, 'hr.', 'hr.'],
  [60, 'min.', 'min.'],
]

/** "5 min. ago", "in 2 hr." */
export function toRelative(atSeconds: number, nowSeconds: number): string {
  const distance = Math.abs(atSeconds - nowSeconds)
  const found = UNITS.find(([size]) => distance >= size)
  if (!found) return shared.time.now
  const [size, unit, units] = found
  const count = Math.trunc(distance / size)
  const amount = `${count} ${count === 1 ? unit : units}`
  return atSeconds < nowSeconds ? shared.time.ago(amount) : shared.time.in(amount)
}

const DURATIONS: readonly (readonly [size: number, unit: string])[] = [
  [86_400, shared.time.days],
  [3600, shared.time.hours],
  [60, shared.time.minutes],
]

/** "3 d", "2 h", "5 min", "12 s". */
export function toDuration(seconds: number): string {
  const [size, unit] = DURATIONS.find(([each]) => seconds >= each) ?? [1, shared.time.seconds]
  return `${Math.floor(seconds / size)} ${unit}`
}
