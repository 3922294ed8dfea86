import { changeQuery } from '../router.ts'
import { texts } from '../texts.ts'
import { Button } from './button.tsx'

/** The rows that a list shows first. */
export const STEP = 50

interface ListEndProps {
  /** How many rows there are, in words. */
  readonly text: string
  readonly hasMore: boolean
  /** As many rows as the address says, and as many as it may say. */
  readonly shown: number
  readonly max: number
  /** What to do to see the rows beyond. */
  readonly narrow: string
}

/** The line below a list that shows more of it. The address has how many, so that a reload shows the same. */
export const ListEnd = ({ text, hasMore, shown, max, narrow }: ListEndProps) => (
  <p class="list-end row between quiet">
    <span>{text}</span>
    {hasMore && shown < max && (
      <Button onClick={() => changeQuery({ count: String(shown + STEP * 2) })}>{texts.actions.more}</Button>
    )}
    {hasMore && shown >= max && <span>{narrow}</span>}
  </p>
)
