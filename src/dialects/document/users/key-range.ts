import type { Bound } from '../../../directory/store-port.ts'

export interface NameRange {
  readonly from?: Bound
  readonly to?: Bound
}

export interface KeyRange {
  /** `undefined`: not given. A key may be any JSON; ids are text. */
  readonly start?: unknown
  readonly end?: unknown
  readonly isEndInclusive: boolean
  readonly isDescending: boolean
}

type Place = { readonly name: string } | 'before all' | 'after all'

/** The users whose document ids lie in a range of keys; `undefined` where none can. */
export function toNameRange(range: KeyRange, prefix: string): NameRange | undefined {
  const { start, end, isEndInclusive, isDescending } = range
  const [near, far] = isDescending ? (['after all', 'before all'] as const) : (['before all', 'after all'] as const)
  const from = start === undefined ? near : placeOf(start, prefix)
  const to = end === undefined ? far : placeOf(end, prefix)
  if (from === far || to === near) return undefined
  return {
    ...(typeof from === 'object' ? { from: { name: from.name, isInclusive: true } } : {}),
    ...(typeof to === 'object' ? { to: { name: to.name, isInclusive: isEndInclusive } } : {}),
  }
}

/** Ids are ordered by their bytes. Of other values null, booleans and numbers come before all text, the rest after. */
function placeOf(key: unknown, prefix: string): Place {
  if (typeof key !== 'string') return typeof key === 'object' && key !== null ? 'after all' : 'before all'
  if (key.startsWith(prefix)) return { name: key.slice(prefix.length) }
  return Buffer.compare(Buffer.from(key), Buffer.from(prefix)) < 0 ? 'before all' : 'after all'
}
