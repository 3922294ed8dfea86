/** A row, and the line of the file where it begins. */
export interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
  /** A quote is not closed, or text follows it: the cells are not certain. */
  readonly isBroken?: boolean
}

/** Without an alternative for each character, which would need too much memory for a long cell. */
const QUOTED = '"[^"]*(?:""[^"]*)*"'
const IS_QUOTED = new RegExp(`^${QUOTED}$`)

/** Spreadsheets separate cells by commas, semicolons or tabs; the first line shows by which. Without empty rows. */
export function splitCsv(text: string): readonly CsvRow[] {
  const clean = text.replace(/^\uFEFF/, '').trimEnd()
  const separator = /[,;\t]/.exec(clean.split('\n', 1)[0] ?? '')?.[0] ?? ','
  const cell = new RegExp(`(${QUOTED}|[^${separator}\\r\\n]*)(${separator}|\\r?\\n|$)`, 'g')
  const rows: CsvRow[] = []
  let line = 1
  let row = { line, cells: [] as string[], isBroken: false }
  for (const [all, content = '', end] of clean.matchAll(cell)) {
    const isQuoted = content.startsWith('"')
    if (isQuoted && !IS_QUOTED.test(content)) row.isBroken = true
    row.cells.push(isQuoted ? content.slice(1, -1).replaceAll('""', '"') : content.trim())
    // a cell in quotes may have several lines
    line += all.split('\n').length - 1
    if (end === separator) continue
    if (row.cells.some((each) => each !== '')) rows.push(row)
    if (end === '') break
    row = { line, cells: [], isBroken: false }
  }
  return rows
}
