// Cardea's own format: one JSON object per line, with a first and a last line that mark a complete file.

const HEAD = '{"cardea":"directory","version":1}'
const END = '{"end":"directory"}'

export interface ReadFile {
  /** Users as the API imports them. */
  readonly users: readonly unknown[]
  /** Lines with other records: administrators and settings. */
  readonly others: number
  readonly problem?: 'format' | 'cutOff'
}

export function readTransferFile(text: string): ReadFile {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const records = lines.map(readLine)
  if (records.some((record) => record === undefined) || records[0]?.['cardea'] !== 'directory')
    return { users: [], others: 0, problem: 'format' }
  if (records.at(-1)?.['end'] !== 'directory') return { users: [], others: 0, problem: 'cutOff' }
  const content = records.slice(1, -1)
  const users = content.flatMap((record) => (record && 'user' in record ? [record['user']] : []))
  return { users, others: content.length - users.length }
}

function readLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

export const renderTransferFile = (lines: readonly string[]): string => [HEAD, ...lines, END, ''].join('\n')
