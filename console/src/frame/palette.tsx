import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { navigate } from '../router.ts'
import type { PageRow } from './page-row.ts'
import { type Entry, useEntries } from './palette-entries.ts'
import { texts } from './texts.ts'

/** Finds pages, users and options, and runs commands: `disable ada`. */
export function Palette({ pages, onClose }: Readonly<{ pages: readonly PageRow[]; onClose: () => void }>) {
  const element = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const entries = useEntries(pages, text)
  // before the next key is pressed, which would go to the page
  useLayoutEffect(() => element.current?.showModal(), [])
  const run = (entry: Entry | undefined) => {
    if (!entry) return
    onClose()
    navigate(entry.href)
  }
  const listen = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.key === 'Enter') run(entries[at])
    else if (step && entries.length > 0) setAt((at + step + entries.length) % entries.length)
    else return
    event.preventDefault()
  }
  const change = (value: string) => {
    setText(value)
    setAt(0)
  }
  return (
    <dialog ref={element} class="palette large" aria-label={texts.palette.title} onClose={onClose}>
      <input
        role="combobox"
        aria-label={texts.palette.title}
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={entries[at] && `palette-${at}`}
        placeholder={texts.palette.placeholder}
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={listen}
      />
      <EntryList entries={entries} at={at} onRun={run} />
    </dialog>
  )
}

interface EntryListProps {
  readonly entries: readonly Entry[]
  readonly at: number
  readonly onRun: (entry: Entry) => void
}

const EntryList = ({ entries, at, onRun }: EntryListProps) => (
  <div class="list" id="palette-list" role="listbox" aria-label={texts.palette.title}>
    {entries.map((entry, index) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys of the list
      <div
        key={entry.href}
        id={`palette-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={index === at}
        onClick={() => onRun(entry)}
      >
        <span>{entry.text}</span>
        <span class="quiet small">{entry.kind}</span>
      </div>
    ))}
    {entries.length === 0 && (
      <div role="option" tabIndex={-1} aria-selected="false" class="quiet">
        {texts.palette.empty}
      </div>
    )}
  </div>
)
