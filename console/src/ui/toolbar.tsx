// The line above a list that searches and filters it. The address has what is typed and chosen.
import type { ComponentChildren } from 'preact'
import { changeQuery } from '../router.ts'
import { type OptionRows, Options } from './field.tsx'

/** A filtered list begins with its first rows again. */
const setFilter = (name: string, value: string) => changeQuery({ count: undefined, [name]: value })

interface FilterProps {
  /** The parameter in the address. */
  readonly name: string
  readonly label: string
  readonly value: string
}

interface ToolbarProps extends FilterProps {
  /** How many rows match, in words. */
  readonly found: string | undefined
  /** Further filters. */
  readonly children?: ComponentChildren
}

export const Toolbar = ({ name, label, value, found, children }: ToolbarProps) => (
  <search class="toolbar">
    <input
      class="input search"
      type="search"
      aria-label={label}
      placeholder={label}
      value={value}
      onInput={(event) => setFilter(name, event.currentTarget.value)}
    />
    {children}
    <output class="found">{found}</output>
  </search>
)

interface ChoiceProps extends FilterProps {
  readonly options: OptionRows
}

export const Choice = ({ name, label, value, options }: ChoiceProps) => (
  <select
    class={`input ${name}`}
    aria-label={label}
    value={value}
    onChange={(event) => setFilter(name, event.currentTarget.value)}
  >
    <Options of={options} />
  </select>
)
