// What an import tells while it runs and when it is over: lines for people, or one JSON value. Neither is held in memory.
import { toPrintable } from '../table.ts'
import { type Progress, renderCount, renderDuration } from './progress.ts'

/** Something to be said of one record. */
export interface Message {
  readonly kind: 'refused' | 'note'
  /** Of the file; left out where there are no lines. */
  readonly line?: number
  readonly id?: string
  readonly reason: string
}

export type OutcomeKind = 'created' | 'replaced' | 'kept' | 'refused'

export type Counts = Readonly<Record<OutcomeKind, number>>

export interface Summary {
  readonly format: string | undefined
  readonly isTrial: boolean
  readonly isStopped: boolean
  readonly users: Counts
  readonly administrators: Counts
  /** Records that are no users, and no mistakes. */
  readonly passed: number
  /** Records nobody could tell to be a user or an administrator. */
  readonly unreadable: number
  readonly elapsedMs: number
}

export interface ImportReport {
  tell(message: Message): void
  end(summary: Summary): void
}

export type Print = (text: string) => void

/** Lines as they come, between two drawings of the bar. */
export const createTextReport = (print: Print, progress: Progress): ImportReport => ({
  tell({ kind, line, id, reason }) {
    const place = [line === undefined ? undefined : `line ${line}`, id === undefined ? undefined : shorten(id)]
    progress.clear()
    print(`${kind.padEnd(8)} ${place.filter((part) => part !== undefined).join(', ')}: ${reason}`)
  },
  end(summary) {
    progress.clear()
    print(renderSummary(summary))
  },
})

const MOST_CHARACTERS = 200

const shorten = (id: string): string => {
  const text = toPrintable(id)
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text
}

function renderSummary({ users, administrators, passed, unreadable, ...summary }: Summary): string {
  const { elapsedMs, isTrial, isStopped, format } = summary
  const total = sumOf(users)
  const rate = elapsedMs > 0 ? (total * 1000) / elapsedMs : 0
  return [
    ...(isStopped ? ['Stopped before the end. What was imported stays; the same command goes on from here.'] : []),
    `Users: ${renderCounts(users)}.`,
    ...(sumOf(administrators) > 0 ? [`Administrators: ${renderCounts(administrators)}.`] : []),
    ...(passed > 0 ? [`Passed over: ${renderCount(passed)} (no users).`] : []),
    ...(unreadable > 0 ? [`Unreadable: ${renderCount(unreadable)}.`] : []),
    `${renderCount(total)} users${format ? ` in the form ${format}` : ''} in ${renderDuration(elapsedMs)}, ${renderCount(rate)}/s.`,
    ...(isTrial ? ['This was a dry run: nothing was written.'] : []),
  ].join('\n')
}

const KINDS: readonly OutcomeKind[] = ['created', 'replaced', 'kept', 'refused']

const renderCounts = (counts: Counts): string =>
  KINDS.map((kind) => `${renderCount(counts[kind])} ${kind}`).join(', ')

export const sumOf = (counts: Counts): number => KINDS.reduce((sum, kind) => sum + counts[kind], 0)

/** One JSON object, written piece by piece: the messages may be many. */
export function createJsonReport(write: Print): ImportReport {
  let isFirst = true
  const open = () => {
    const text = isFirst ? '{"messages":[\n' : ',\n'
    isFirst = false
    return text
  }
  return {
    tell: (message) => write(`${open()}${JSON.stringify(message)}`),
    end(summary) {
      const head = isFirst ? '{"messages":[' : '\n'
      write(`${head}],${JSON.stringify(summary).slice(1)}\n`)
    },
  }
}
