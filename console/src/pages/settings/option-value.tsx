import type { ServerOptionView } from '../../api/client.ts'
import { shared } from '../../texts.ts'
import { toDuration } from '../../times.ts'
import { texts } from './texts.ts'

/** The configured value, with what it means. Secrets are never shown. */
export function OptionValue({ option }: { readonly option: ServerOptionView }) {
  const { value, isSecret } = option
  if (value === '') return <span class="quiet">{shared.sharedValue.empty}</span>
  const meaning = isSecret ? '' : describeNumber(option)
  return (
    <span>
      <span class="mono">{isSecret ? texts.hidden : value}</span>
      {meaning && <span class="quiet"> ({meaning})</span>}
    </span>
  )
}

/** Not "0 means that …", which is a sentence of its own. */
const ZERO = /\b0 means (?!that\b)([^.;]+)[.;]/
const SECONDS = /^Seconds\b|\bin seconds\b/
const MILLISECONDS = /^Milliseconds\b/
const MIN_SHORTENED = 120

/** "4 GiB", "10 min", "no limit": the help says what a number counts, and what 0 means. */
function describeNumber({ value, help, details = '' }: ServerOptionView): string {
  if (!/^\d+$/.test(value)) return ''
  const number = Number(value)
  if (number === 0) return ZERO.exec(`${help} ${details}`)?.[1] ?? ''
  const seconds = SECONDS.test(help) ? number : MILLISECONDS.test(help) ? number / 1000 : 0
  return seconds >= MIN_SHORTENED ? toDuration(seconds) : toSize(number)
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB']

/** For a number of bytes. Other large numbers are hardly ever multiples of 1024. */
function toSize(bytes: number): string {
  let size = bytes >= 10_000 ? bytes : 0
  let unit = -1
  while (size >= 1024 && size % 1024 === 0) {
    size /= 1024
    unit += 1
  }
  return unit < 0 ? '' : `${size} ${UNITS[unit] ?? ''}`
}
