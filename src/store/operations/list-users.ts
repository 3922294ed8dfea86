import type { Bound, Stored, UserRange } from '../../directory/store-port.ts'
import type { User } from '../../directory/user.ts'
import { readUser } from '../record.ts'
import { numberOf, textOf } from '../rows.ts'
import { type OneStep, one, type Row, type Statement, type Value } from '../steps.ts'

/** The statement of one page. Every combination of bounds has its own, so that each can be a range of the index. */
export function listUsers({ from, to, descending = false, limit }: UserRange): OneStep {
  const [low, high] = descending ? [to, from] : [from, to]
  const lowest = low && toLowBound(low)
  const highest = high && toHighBound(high)
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
  return one(nameStatement(text, lowest, highest, descending), ...values)
}

export const readListed = (row: Row): Stored<User> => ({
  sequence: numberOf(row, 'sequence'),
  record: readUser(textOf(row, 'name'), textOf(row, 'record')),
})

function nameStatement(text: string, low: Bound | undefined, high: Bound | undefined, descending: boolean): Statement {
  const part = (bound: Bound | undefined) => (bound ? (bound.isInclusive ? 'inclusive' : 'exclusive') : 'open')
  return { name: `listUsers_${part(low)}_${part(high)}_${descending ? 'down' : 'up'}`, text }
}

/** No name holds U+0000, so all names beyond `a\0…` are exactly those beyond `a`; PostgreSQL cannot be told the former. */
function toLowBound(bound: Bound): Bound {
  const end = bound.name.indexOf('\0')
  return end < 0 ? toText(bound) : toText({ name: bound.name.slice(0, end), isInclusive: false })
}

function toHighBound(bound: Bound): Bound {
  const end = bound.name.indexOf('\0')
  return end < 0 ? toText(bound) : toText({ name: bound.name.slice(0, end), isInclusive: true })
}

const toText = ({ name, isInclusive }: Bound): Bound => ({ name: name.toWellFormed(), isInclusive })
