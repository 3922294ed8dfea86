import { styleText } from 'node:util'
import { toPrintable } from '../base/printable.ts'

/** A table with headings. The last column is not padded. */
export function renderTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [headings, ...rows.map((row) => row.map(toPrintable))]
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)))
  const renderRow = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return cells.map((row) => renderRow(row).trimEnd()).join('\n')
}

const MAX_NAMED = 20

/** The first of the names, and how many more there are. */
export function renderNames(names: readonly string[]): string {
  const named = names.slice(0, MAX_NAMED).map((name) => JSON.stringify(name))
  return [...named, ...(names.length > MAX_NAMED ? [`and ${names.length - MAX_NAMED} more`] : [])].join(', ')
}

const COLOURS = {
  ok: 'green',
  ready: 'green',
  warning: 'yellow',
  failed: 'red',
  problem: 'red',
  'not ready': 'red',
} as const

/** The first words of a line or value in the colour of their meaning, on a terminal that has colours. */
export const paint = (text: string): string =>
  text.replace(/^(?:ok|ready|warning|failed|problem|not ready)\b/, (word) =>
    styleText(COLOURS[word as keyof typeof COLOURS], word, { stream: process.stdout }),
  )

/** A name and its value on each line. */
export function renderFacts(facts: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...facts.map(([name]) => name.length))
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${paint(toPrintable(value))}`.trimEnd()).join('\n')
}
