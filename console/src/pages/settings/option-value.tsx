import type { ServerOption } from '../../api/types.ts'
import { texts } from '../../texts.ts'

/** The configured value. Secrets are never shown. */
export function OptionValue({ option: { value, isSecret } }: { readonly option: ServerOption }) {
  if (value === '') return <span class="quiet">{texts.settings.empty}</span>
  const size = isSecret ? '' : toSize(value)
  return (
    <span>
      <span class="mono">{isSecret ? texts.settings.hidden : value}</span>
      {size && <span class="quiet"> ({size})</span>}
    </span>
  )
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB']

/** "4 GiB" for a number of bytes that is one; other large numbers are hardly ever multiples of 1024. */
function toSize(value: string): string {
  let size = /^\d{5,}$/.test(value) ? Number(value) : 0
  let unit = -1
  while (size >= 1024 && size % 1024 === 0) {
    size /= 1024
    unit += 1
  }
  return unit < 0 ? '' : `${size} ${UNITS[unit] ?? ''}`
}
