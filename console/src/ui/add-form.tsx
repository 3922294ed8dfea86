import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Problem, useSubmit } from './field.tsx'
import { Button } from './parts.tsx'
import { Suggestions, type SuggestionsProps } from './suggestions.tsx'

export interface AddFormProps {
  readonly label: string
  readonly hint?: string
  /** What is suggested while a name is typed. */
  readonly of?: SuggestionsProps['of'] | undefined
  readonly action: string
  readonly onAdd: (name: string) => Promise<unknown>
  /** A control beside the field. */
  readonly children?: ComponentChildren
}

/** One line that adds a name. A refused name stays, with the reason beside it. */
export function AddForm({ label, hint = label, of, action, onAdd, children }: AddFormProps) {
  const list = `known-${of}`
  const [text, setText] = useState('')
  const { submit, isBusy, problem } = useSubmit(async () => {
    const name = text.trim()
    if (name !== '') await onAdd(name)
    setText('')
  })
  return (
    <form class="input-row" onSubmit={submit}>
      <input
        class="input mono"
        aria-label={label}
        placeholder={hint}
        autoComplete="off"
        list={list}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {of && <Suggestions id={list} of={of} typed={text} />}
      {children}
      <Button type="submit" isBusy={isBusy}>
        {action}
      </Button>
      <Problem text={problem} />
    </form>
  )
}
