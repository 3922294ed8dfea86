import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { shared } from '../texts.ts'
import { Field } from './field.tsx'
import { Suggestions, type SuggestionsProps } from './suggestions.tsx'

interface NamesFieldProps {
  readonly label: string
  readonly hint?: string
  readonly names: readonly string[]
  readonly onNames: (names: readonly string[]) => void
  /** What is suggested while a name is typed. */
  readonly of?: SuggestionsProps['of']
  /** A control beside the field. */
  readonly children?: ComponentChildren
}

/** A list of names, each in a chip, as names may contain blanks and commas. Enter ends a name. */
export function NamesField({ label, hint = '', names, onNames, of, children }: NamesFieldProps) {
  const list = useId()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState('')
  // what is typed counts before Enter too: it is the last of the names, unless the form has got other names
  const typed = names.at(-1) === text ? text : ''
  const chips = typed === '' ? names : names.slice(0, -1)
  useEffect(() => {
    const form = input.current?.form
    const endTyping = () => setText('')
    form?.addEventListener('submit', endTyping)
    return () => form?.removeEventListener('submit', endTyping)
  }, [])
  const type = (next: string) => {
    setText(next)
    onNames(next === '' ? chips : [...chips, next])
  }
  const add = (added: readonly string[]) => {
    setText('')
    onNames([...new Set([...chips, ...added.map((name) => name.trim()).filter((name) => name !== '')])])
  }
  /** What is typed stays, and so does the focus. */
  const remove = (name: string) => {
    onNames(names.filter((each, at) => each !== name || at >= chips.length))
    input.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // a key that is held down to remove the text does not go on with the names
    if (event.key === 'Backspace' && typed === '' && !event.repeat) onNames(chips.slice(0, -1))
    if (event.key !== 'Enter' || typed === '' || event.isComposing) return
    event.preventDefault()
    add([typed])
  }
  const onPaste = (event: ClipboardEvent) => {
    const lines = event.clipboardData?.getData('text').split(/[\r\n]+/) ?? []
    if (lines.length < 2) return
    event.preventDefault()
    add([typed, ...lines])
  }
  return (
    <Field label={label} hint={`${hint} ${shared.names.hint}`}>
      {(control) => (
        <div class="input-row">
          <div class="input names">
            {chips.map((name) => (
              <Chip key={name} name={name} onRemove={() => remove(name)} />
            ))}
            <input
              ref={input}
              {...control}
              class="mono"
              autoComplete="off"
              autoCapitalize="none"
              spellcheck={false}
              list={list}
              value={typed}
              onInput={(event) => type(event.currentTarget.value)}
              {...{ onKeyDown, onPaste }}
              onBlur={() => type(typed.trim())}
            />
          </div>
          {of && <Suggestions id={list} of={of} typed={typed} without={chips} />}
          {children}
        </div>
      )}
    </Field>
  )
}

interface ChipProps {
  readonly name: string
  readonly label?: string
  readonly onRemove?: (() => void) | undefined
}

/** A name with a button that removes it. */
export const Chip = ({ name, label = shared.names.remove(name), onRemove }: ChipProps) => (
  <span class="badge mono">
    {name}
    {onRemove && (
      <button class="chip-remove" type="button" aria-label={label} onClick={onRemove}>
        ×
      </button>
    )}
  </span>
)
