// A list of a page: what the address says about it, its rows, and what stands in place of rows.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { api, askEarly, type Query } from '../api/client.ts'
import { type Resource, useResource } from '../api/use-resource.ts'
import { useLiveReload } from '../frame/live.ts'
import { changeQuery, type Route, readRoute, toHref, useRoute } from '../router.ts'
import { shared } from '../texts.ts'
import { ActionButton } from './action-button.tsx'
import { Button, ButtonLink } from './parts.tsx'
import { Empty, Loaded } from './states.tsx'
import { type Selection, Table, type TableProps } from './table.tsx'
import { useDebounced } from './use-debounced.ts'

/** The rows that a list shows first. */
const STEP = 50

interface ListPage {
  readonly next?: string
  /** How many rows match in all, where that is known. */
  readonly total?: number
}

interface ListOptions<P> {
  /** As many rows are shown at most. */
  readonly max: number
  /** The events after which the list is loaded again. */
  readonly events: RegExp
  /** What the address says, as the API reads it. */
  readonly toFilter?: (query: Route['query']) => Query
  readonly load?: (path: string, filter: Query & { readonly limit: number }, signal: AbortSignal) => Promise<P>
}

export interface ListState<P> extends Resource<P> {
  /** What the address says, without the dialog that is open. */
  readonly query: Route['query']
  /** The key of the row whose details are open. */
  readonly open: string | undefined
  /** The list without details. */
  readonly back: string
  readonly shown: number
  readonly max: number
  readonly selection: Selection
  /** As many rows as can be shown. */
  loadAll(): Promise<P>
}

const toSearch = ({ search }: Route['query']): Query => ({ search })

/** What the address asks for, and as many rows as it says, so that a reload shows the same. */
const toWanted = <P,>(query: Route['query'], { max, toFilter = toSearch }: ListOptions<P>) => ({
  ...toFilter(query),
  // all that can be shown are sorted, not only those that are
  limit: query['sort'] ? max : Math.min(Number(query['count'] ?? STEP), max),
})

/** Asks for the list while the rest of the page is evaluated. */
export const askEarlyForList = <P,>(path: string, options: ListOptions<P>): void =>
  askEarly(path, toWanted(readRoute(location.hash).query, options))

/** The first rows that match. */
export function useList<P extends ListPage>(path: string, options: ListOptions<P>): ListState<P> {
  const { max, events, load = api.get<P> } = options
  const route = useRoute()
  const [page = '', open] = route.path
  const { do: _action, ...query } = route.query
  const shown = Number(query['count'] ?? STEP)
  const filter = toWanted({ ...query, search: useDebounced(query['search'] ?? '') }, options)
  const resource = useResource(JSON.stringify(filter), (signal) => load(path, filter, signal), { keepsLast: true })
  useLiveReload(({ event }) => events.test(event), resource.reload)
  const selection = useSelection(JSON.stringify({ ...filter, limit: 0 }))
  const loadAll = () => load(path, { ...filter, limit: max }, new AbortController().signal)
  const back = toHref([page], query)
  return { ...resource, query, open, back, shown, max, selection, loadAll }
}

const NONE: ReadonlySet<string> = new Set()

/** What is selected belongs to one filter: with another one, nothing is. */
function useSelection(filter: string): Selection {
  const [selected, setSelected] = useState({ filter, keys: NONE })
  const onChange = (keys: ReadonlySet<string>) => setSelected({ filter, keys })
  return { keys: selected.filter === filter ? selected.keys : NONE, onChange }
}

interface ListProps<P, T> extends Omit<TableProps<T>, 'rows' | 'current' | 'sort' | 'selection'> {
  readonly list: ListState<P>
  /** In a sentence: "The users could not be loaded". */
  readonly what: string
  readonly rowsOf: (page: P) => readonly T[]
  /** How many rows there are, in words. */
  readonly count: (page: P) => string
  /** What to do to see rows beyond those that can be shown. */
  readonly narrow: string
  readonly canSelect?: boolean
  /** In place of rows if there are none. */
  readonly none: ComponentChildren
}

export function List<P extends ListPage, T>(props: ListProps<P, T>) {
  const { list, what, rowsOf, count, narrow, canSelect = false, none, ...table } = props
  return (
    <Loaded resource={list} what={what} shape="rows">
      {(page) =>
        rowsOf(page).length === 0 ? (
          <div class="card">{none}</div>
        ) : (
          <>
            <Table
              {...table}
              rows={rowsOf(page)}
              current={list.open}
              sort={list.query['sort'] ?? ''}
              {...(canSelect && { selection: list.selection })}
            />
            {page.next !== undefined && <ListEnd text={count(page)} list={list} narrow={narrow} />}
          </>
        )
      }
    </Loaded>
  )
}

interface ListEndProps {
  readonly text: string
  readonly list: Pick<ListState<unknown>, 'shown' | 'max'>
  readonly narrow: string
}

/** The line below a list that shows more of it. */
const ListEnd = ({ text, list: { shown, max }, narrow }: ListEndProps) => (
  <p class="after-table row between quiet">
    <span>{text}</span>
    {shown < max ? (
      <Button onClick={() => changeQuery({ count: String(shown + STEP * 2) })}>{shared.actions.more}</Button>
    ) : (
      <span>{narrow}</span>
    )}
  </p>
)

interface NoRowsProps {
  readonly page: string
  readonly isFiltered: boolean
  /** Where the first row is made. */
  readonly fill?: string
  readonly words: {
    readonly none: string
    readonly noneText?: string
    readonly toFill?: string
    readonly noneFound: string
    readonly noneFoundText: string
    readonly showAll: string
  }
}

export const NoRows = ({ page, isFiltered, fill, words }: NoRowsProps) =>
  isFiltered ? (
    <Empty title={words.noneFound} text={words.noneFoundText}>
      <ButtonLink href={toHref([page])}>{words.showAll}</ButtonLink>
    </Empty>
  ) : (
    <Empty title={words.none} text={words.noneText}>
      {fill && <ButtonLink href={fill}>{words.toFill}</ButtonLink>}
    </Empty>
  )

interface SelectAllProps<P, T> extends Pick<TableProps<T>, 'keyOf'> {
  readonly list: ListState<P>
  readonly rowsOf: (page: P) => readonly T[]
}

/** Offered when every row in view is selected and there are more. Selects and shows those too. */
export function SelectAll<P extends ListPage, T>({ list, rowsOf, keyOf }: SelectAllProps<P, T>) {
  const { data, max, selection, loadAll } = list
  if (data?.next === undefined || !rowsOf(data).every((row) => selection.keys.has(keyOf(row)))) return null
  const select = async () => {
    const all = await loadAll()
    selection.onChange(new Set(rowsOf(all).map(keyOf)))
    changeQuery({ count: String(max) })
  }
  const { total = max } = data
  return (
    <ActionButton kind="quiet" run={select}>
      {total < max ? shared.table.selectAllOf(total) : shared.table.selectFirst(max)}
    </ActionButton>
  )
}

interface SelectionBarProps {
  /** How many rows are selected, in words. */
  readonly text: string
  readonly label: string
  readonly onClear: () => void
  readonly children: ComponentChildren
}

/** Actions for all selected rows. */
export const SelectionBar = ({ text, label, onClear, children }: SelectionBarProps) => (
  <section class="toolbar batch" aria-label={label}>
    <strong>{text}</strong>
    {children}
    <Button kind="quiet" onClick={onClear}>
      {shared.table.clear}
    </Button>
  </section>
)

interface NameLinkProps {
  readonly path: readonly string[]
  readonly query?: Route['query']
  readonly children: string
}

/** The name in a row, which opens its details. */
export const NameLink = ({ path, query, children }: NameLinkProps) => (
  <a class="name" href={toHref(path, query)} title={children}>
    {children}
  </a>
)
