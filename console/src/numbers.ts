// Numbers as text, in English. Without `Intl`, whose first use on a page takes 20 ms or more: the browser loads its tables.

const toTenths = (value: number): number => Math.round(value * 10) / 10

/** 12,345.6 */
export function toCount(value: number): string {
  const [whole = '', tenth] = String(toTenths(value)).split('.')
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ',')
  return tenth === undefined ? grouped : `${grouped}.${tenth}`
}

const SCALES: readonly (readonly [size: number, unit: string])[] = [
  [1e9, 'B'],
  [1e6, 'M'],
  [1e3, 'K'],
]

/** 12.3K. A value that would be rounded to 1000 of a unit has the next one. */
export function toShort(value: number): string {
  const [size, unit] = SCALES.find(([each]) => toTenths((value / each) * 1000) >= 1000) ?? [1, '']
  return `${toTenths(value / size)}${unit}`
}

/** 4.2 ms, 350 ms, 10 s, 3 min. */
export function toMilliseconds(value: number): string {
  if (value >= 120_000) return `${toCount(value / 60_000)} min`
  if (value >= 1000) return `${toCount(value / 1000)} s`
  return `${value < 10 ? toTenths(value) : Math.round(value)} ms`
}

/** The upper end of an axis: above the highest value, so that every peak is seen. */
export const findTop = (values: readonly number[]): number => Math.max(1, Math.max(0, ...values) * 1.1)

/** Exact as long as a tile has room for it. */
export const toTotal = (value: number): string => (value < 100_000 ? toCount(value) : toShort(value))

export const plural = (count: number, one: string, many: string): string =>
  `${toCount(count)} ${count === 1 ? one : many}`
