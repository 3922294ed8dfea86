import type { FunctionComponent } from 'preact'
import type { RightsView } from '../api/client.ts'
import type { Query } from '../router.ts'
import type { LiveCounts } from './live.ts'

/** A number beside a page that needs attention. */
export interface Notice {
  readonly count: number
  readonly text: string
}

/** What the palette offers: it opens the page with this query. */
interface Command {
  readonly text: string
  readonly query?: Query
}

export interface PageProps {
  /** The title of the page, from its row. */
  readonly title: string
}

/** A page, as its folder describes it. */
export interface PageRow {
  /** The first segment of the address. */
  readonly name: string
  readonly title: string
  /** For the bar of narrow windows. */
  readonly shortTitle?: string
  /** The path of its drawing, 16 by 16. */
  readonly icon: string
  /** The key after `g`. */
  readonly key: string
  /** Left out: administrators alone see it. */
  readonly rights?: readonly RightsView[]
  /** Whether the bar of narrow windows shows it; the others are under "More". */
  readonly isPrimary?: boolean
  /** What is open there has an id that says nothing to people: the title of the window leaves it out. */
  readonly hasIds?: true
  readonly notice?: (counts: LiveCounts) => Notice
  readonly commands?: readonly Command[]
  /** Its code comes with the first visit. */
  readonly load: () => Promise<FunctionComponent<PageProps>>
}
