import type { Bound, UserRange } from '../../directory/store-port.ts'
import { type OneStep, one, type Value } from '../engine.ts'

/** The statement for one page. Each combination of bounds has its own text, so that each is a range of the index. */
export function listUsers({ from, to, descending = false, limit }: UserRange): OneStep {
  const [low, high] = descending ? [to, from] : [from, to]
  const lowest = low && toTextBound(low, false)
  const highest = high && toTextBound(high, true)
  const values: Value[] = []
  const conditions = ['is_live = 1']
  for (const [bound, direction] of [[lowest, '>'] as const, [highest, '<'] as const]) {
    if (!bound) continue
    values.push(bound.name)
    conditions.push(`name ${direction}${bound.isInclusive ? '=' : ''} $${values.length}`)
  }
  values.push(limit)
  const text = `SELECT name, sequence, record FROM cardea_users WHERE ${conditions.join(' AND ')}
    ORDER BY name ${descending ? 'DESC' : 'ASC'} LIMIT $${values.length}`
  const name = `listUsers_${describeBound(lowest)}_${describeBound(highest)}_${descending ? 'down' : 'up'}`
  return one({ name, text }, ...values)
}

function describeBound(bound: Bound | undefined): string {
  if (!bound) return 'open'
  return bound.isInclusive ? 'inclusive' : 'exclusive'
}

/**
 * PostgreSQL has no U+0000, and no name contains it. So a bound `a\0…` is replaced by `a`, exclusive as a lower bound
 * and inclusive as an upper one, which selects the same names.
 */
function toTextBound({ name, isInclusive }: Bound, isUpper: boolean): Bound {
  const end = name.indexOf('\0')
  if (end < 0) return { name: name.toWellFormed(), isInclusive }
  return { name: name.slice(0, end).toWellFormed(), isInclusive: isUpper }
}
