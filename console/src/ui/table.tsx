import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { changeQuery } from '../router.ts'
import { shared } from '../texts.ts'

export interface Column<T> {
  readonly label: string
  readonly render: (row: T) => ComponentChildren
  readonly kind?: 'number' | 'actions'
  /** Left out while a side panel needs the room. */
  readonly isMinor?: boolean
  /** The rows can be sorted by this value. */
  readonly sortBy?: (row: T) => string | number
}

export interface Selection {
  readonly keys: ReadonlySet<string>
  readonly onChange: (keys: ReadonlySet<string>) => void
}

export interface TableProps<T> {
  /** Read by screen readers. */
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
  /** What screen readers call a row that can be selected; its key if it is left out. */
  readonly nameOf?: (row: T) => string
  /** The row whose details are open. */
  readonly current?: string | undefined
  readonly selection?: Selection
  /** The column that the rows are sorted by, as the address has it. */
  readonly sort?: string
}

/** A table. Below 720 px every row becomes a block with labels. */
export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
  nameOf = keyOf,
  current,
  selection,
  sort = '',
}: TableProps<T>) {
  useEffect(() => document.querySelector('.page tr.current')?.scrollIntoView({ block: 'nearest' }), [current])
  return (
    <div class="table">
      <table onKeyDown={listenForArrows}>
        <caption class="hidden-label">{caption}</caption>
        <thead>
          <tr>
            {selection && <TickAll selection={selection} keys={rows.map(keyOf)} />}
            {columns.map((column) => (
              <HeadCell key={column.label} column={column} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {toSorted(rows, columns, sort).map((row) => {
            const key = keyOf(row)
            return (
              <tr key={key} class={key === current ? 'current' : ''}>
                {selection && <TickOne selection={selection} row={key} name={nameOf(row)} />}
                {columns.map((column) => (
                  <Cell key={column.label} column={column} row={row} />
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function HeadCell<T>({
  column: { label, kind, isMinor, sortBy },
  sort,
}: {
  readonly column: Column<T>
  readonly sort: string
}) {
  const isSorted = sort.replace('-', '') === label
  const next = sort === label ? `-${label}` : isSorted ? undefined : label
  const order = !isSorted ? undefined : sort === label ? 'ascending' : 'descending'
  return (
    <th scope="col" class={`${kind ?? ''} ${isMinor ? 'minor' : ''}`} aria-sort={order}>
      {sortBy ? (
        <button class="sort" type="button" title={shared.table.sort} onClick={() => changeQuery({ sort: next })}>
          {label}
          <span aria-hidden="true">{order ? (order === 'ascending' ? '↑' : '↓') : '↕'}</span>
        </button>
      ) : (
        <span class={kind === 'actions' ? 'hidden-label' : ''}>{label}</span>
      )}
    </th>
  )
}

/** `sort` is the label of a column; with `-`, the largest value comes first. */
function toSorted<T>(rows: readonly T[], columns: readonly Column<T>[], sort: string): readonly T[] {
  const sortBy = columns.find(({ label }) => label === sort.replace('-', ''))?.sortBy
  if (!sortBy) return rows
  const sign = sort.startsWith('-') ? -1 : 1
  return rows.toSorted((one, other) => sign * (sortBy(one) < sortBy(other) ? -1 : sortBy(one) > sortBy(other) ? 1 : 0))
}

function Cell<T>({ column: { label, kind, isMinor, render }, row }: { readonly column: Column<T>; readonly row: T }) {
  const content = render(row)
  const isEmpty = content === undefined || content === null || content === false || content === ''
  return (
    <td
      class={`${kind ?? ''} ${isMinor ? 'minor' : ''} ${isEmpty ? 'empty' : ''}`}
      data-label={kind === 'actions' ? undefined : label}
    >
      {content}
    </td>
  )
}

function TickAll({ selection, keys }: { readonly selection: Selection; readonly keys: readonly string[] }) {
  const isAll = keys.length > 0 && keys.every((key) => selection.keys.has(key))
  return (
    <th class="tick" scope="col">
      <label class="check" data-label={shared.table.selectAll}>
        <input
          type="checkbox"
          aria-label={shared.table.selectAll}
          checked={isAll}
          onChange={() => selection.onChange(new Set(isAll ? [] : keys))}
        />
      </label>
    </th>
  )
}

interface TickOneProps {
  readonly selection: Selection
  readonly row: string
  readonly name: string
}

function TickOne({ selection: { keys, onChange }, row, name }: TickOneProps) {
  const toggle = () => {
    const next = new Set(keys)
    if (!next.delete(row)) next.add(row)
    onChange(next)
  }
  return (
    <td class="tick">
      <input type="checkbox" aria-label={shared.table.select(name)} checked={keys.has(row)} onChange={toggle} />
    </td>
  )
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

function listenForArrows(event: KeyboardEvent): void {
  const step = STEPS[event.key]
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  moveBetweenRows(step)
}

const findLink = (row: Element | null | undefined) => row?.querySelector<HTMLElement>('a')

/** Moves the focus to the link of the next or previous row: of the table with the focus, or of the list of the page. */
export function moveBetweenRows(step: number): void {
  const focused = document.activeElement?.closest('tbody tr')
  const table = focused?.closest('table') ?? document.querySelector('.page table:has(tbody a)')
  const rows = [...(table?.querySelectorAll('tbody tr') ?? [])].filter(findLink)
  const from = focused ?? rows.find((row) => row.classList.contains('current'))
  const at = from ? rows.indexOf(from) : -1
  findLink(at < 0 ? rows[0] : rows[at + step])?.focus()
}

/** Gives the focus back to the row whose details were open. */
export const focusCurrentRow = (): void => findLink(document.querySelector('.page tr.current'))?.focus()
