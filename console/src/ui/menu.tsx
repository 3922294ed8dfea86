import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** A button that shows further buttons. A click anywhere and Escape close it. */
export function Menu({ label, children }: Readonly<{ label: string; children: ComponentChildren }>) {
  const element = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const close = (event: Event) => {
      const isOwnButton = event.target instanceof Node && element.current?.firstElementChild?.contains(event.target)
      if (element.current && !isOwnButton) element.current.open = false
    }
    addEventListener('click', close)
    return () => removeEventListener('click', close)
  }, [])
  const closeByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !element.current?.open) return
    event.stopPropagation()
    element.current.open = false
    element.current.querySelector('summary')?.focus()
  }
  return (
    <details class="menu" ref={element} onKeyDown={closeByKey}>
      <summary class="button">{label}</summary>
      <div class="menu-items">{children}</div>
    </details>
  )
}
