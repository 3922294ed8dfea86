import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { navigate } from '../router.ts'
import { shared } from '../texts.ts'
import { Icon } from './icons.tsx'
import { focusCurrentRow } from './table.tsx'

interface SidePanelProps {
  readonly title: string
  readonly badges?: ComponentChildren
  /** Where the panel is closed: the list it belongs to. */
  readonly back: string
  readonly children: ComponentChildren
}

/** Details beside a list. The panel has its own address; Escape returns to the list. */
export function SidePanel({ title, badges, back, children }: SidePanelProps) {
  const id = useId()
  const element = useRef<HTMLElement>(null)
  useEffect(() => element.current?.focus(), [title])
  useEffect(() => {
    const close = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return
      focusCurrentRow()
      navigate(back)
    }
    addEventListener('keydown', close)
    return () => removeEventListener('keydown', close)
  }, [back])
  return (
    <aside class="panel" ref={element} tabIndex={-1} aria-labelledby={id}>
      <header>
        <h2 id={id} title={title}>
          {title}
        </h2>
        {badges}
        <a class="button icon" href={back} onClick={focusCurrentRow} aria-label={shared.actions.close}>
          <Icon name="close" />
        </a>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div class="content" tabIndex={0}>
        {children}
      </div>
    </aside>
  )
}
