import type { ServerOption } from '../../api/types.ts'
import { texts } from '../../texts.ts'

/** The configured value. Secrets are never shown. */
export function OptionValue({ option: { value, isSecret } }: { readonly option: ServerOption }) {
  if (value === '') return <span class="quiet">{texts.settings.empty}</span>
  return <span class="mono">{isSecret ? texts.settings.hidden : value}</span>
}
