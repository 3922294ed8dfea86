// The report of an import or export: lines for people, or one JSON value. It is written as it grows, because there can be
// as many messages as records.
import { toPrintable } from '../table.ts'
import type { Progress } from './progress.ts'

/** A message about one record. */
export interface Message {
  readonly kind: 'refused' | 'note'
  /** Line of the file; left out if the source has no lines. */
  readonly line?: number
  readonly id?: string
  readonly reason: string
}

/** `S`: the summary at the end. */
export interface Report<S> {
  add(message: Message): void
  end(summary: S): void
}

export type Print = (text: string) => void

export interface TextReportOptions<S> {
  readonly print: Print
  readonly progress: Progress
  render(summary: S): string
}

/** Prints each message at once, and removes the progress bar before it. */
export const createTextReport = <S>({ print, progress, render }: TextReportOptions<S>): Report<S> => ({
  add({ kind, line, id, reason }) {
    const place = [...(line === undefined ? [] : [`line ${line}`]), ...(id === undefined ? [] : [shorten(id)])]
    progress.clear()
    print(`${kind}: ${[place.join(', '), reason].filter((part) => part !== '').join(': ')}`)
  },
  end(summary) {
    progress.clear()
    print(render(summary))
  },
})

const MAX_CHARACTERS = 200

function shorten(id: string): string {
  const text = toPrintable(id)
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text
}

/** One JSON object, written piece by piece. */
export function createJsonReport<S extends object>(write: Print): Report<S> {
  let separator = '{"messages":[\n'
  return {
    add(message) {
      write(`${separator}${JSON.stringify(message)}`)
      separator = ',\n'
    },
    end(summary) {
      const head = separator === ',\n' ? '\n' : '{"messages":['
      write(`${head}],\n${JSON.stringify(summary).slice(1)}\n`)
    },
  }
}
