import { useEffect } from 'preact/hooks'

/** Whether the key belongs to a field or an open dialog and not to the page. */
function isTaken({ target }: KeyboardEvent): boolean {
  if (document.querySelector('dialog[open]')) return true
  return target instanceof HTMLElement && target.matches('input:not([type="checkbox"]), textarea, select')
}

const SEQUENCE_MS = 1000

/**
 * Keys of the whole page, as `?`, `mod+k` or `g u`. A field or an open dialog gets its keys first, except with `mod`.
 */
export function useShortcuts(shortcuts: Readonly<Record<string, () => void>>): void {
  useEffect(() => {
    let pending = ''
    let timer = 0
    const listen = (event: KeyboardEvent) => {
      const isMod = event.ctrlKey || event.metaKey
      if (event.altKey || (!isMod && isTaken(event))) return
      const key = isMod ? `mod+${event.key.toLowerCase()}` : event.key
      const action = shortcuts[`${pending} ${key}`] ?? shortcuts[key]
      pending = key
      clearTimeout(timer)
      timer = setTimeout(() => {
        pending = ''
      }, SEQUENCE_MS)
      if (!action) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  })
}
