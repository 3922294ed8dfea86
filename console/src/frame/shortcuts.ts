import { useEffect, useRef } from 'preact/hooks'

/** Whether the key belongs to a field or an open dialog and not to the page. */
function isTaken({ target }: KeyboardEvent): boolean {
  if (document.querySelector('dialog[open]')) return true
  return target instanceof HTMLElement && target.matches('input:not([type="checkbox"]), textarea, select')
}

const SEQUENCE_MS = 1000

/** The first key of a sequence. The key after it is not read as a shortcut of its own. */
const GO = 'g'

/**
 * Keys of the whole page, as `?`, `mod+k` or `g u`. A field or an open dialog gets its keys first, except with `mod`.
 */
export function useShortcuts(shortcuts: Readonly<Record<string, () => void>>): void {
  const pending = useRef({ key: '', atMs: 0 })
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const isMod = event.ctrlKey || event.metaKey
      if (event.altKey || (!isMod && isTaken(event))) return
      const key = isMod ? `mod+${event.key.toLowerCase()}` : event.key
      const isSequence = event.timeStamp - pending.current.atMs < SEQUENCE_MS
      const isSecond = pending.current.key === GO && isSequence
      const action = isSecond ? shortcuts[`${GO} ${key}`] : shortcuts[key]
      pending.current = { key, atMs: event.timeStamp }
      if (!action) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  })
}
