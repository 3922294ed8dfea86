// What is told while an import or export runs and when it is over: lines for people, or one JSON value. Neither is held
// in memory: the messages may be as many as the records.
import { toPrintable } from '../table.ts'
import type { Progress } from './progress.ts'

/** Something to be said of one record. */
export interface Message {
  readonly kind: 'refused' | 'note'
  /** Of the file; left out where there are no lines. */
  readonly line?: number
  readonly id?: string
  readonly reason: string
}

/** `S`: what is told at the end. */
export interface Report<S> {
  tell(message: Message): void
  end(summary: S): void
}

export type Print = (text: string) => void

export interface TextReportOptions<S> {
  readonly print: Print
  readonly progress: Progress
  render(summary: S): string
}

/** Lines as they come, between two drawings of the bar. */
export const createTextReport = <S>({ print, progress, render }: TextReportOptions<S>): Report<S> => ({
  tell({ kind, line, id, reason }) {
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
    tell(message) {
      write(`${separator}${JSON.stringify(message)}`)
      separator = ',\n'
    },
    end(summary) {
      const head = separator === ',\n' ? '\n' : '{"messages":['
      write(`${head}],\n${JSON.stringify(summary).slice(1)}\n`)
    },
  }
}
