// The report of an import or export: lines for people, or one JSON value. It is written as it grows, because there can be
// as many messages as records.

import { toPrintable } from '../../base/printable.ts'
import type { Context } from '../context.ts'
import { createProgress, type Progress } from './progress.ts'

/** A message about one record. */
export interface Message {
  readonly kind: 'refused' | 'note'
  /** Line of the file; `undefined` if the source has no lines. */
  readonly line?: number | undefined
  readonly id?: string | undefined
  readonly reason: string
}

/** `S`: the summary at the end. */
export interface Report<S> {
  readonly progress: Progress
  add(message: Message): void
  end(summary: S): void
}

/** `what` happens, such as `importing`. */
export function createReport<S extends object>(
  what: string,
  isJson: boolean,
  print: Context['print'],
  render: (summary: S) => string,
): Report<S> {
  const progress = createProgress(what)
  if (isJson) return { progress, ...createJsonReport<S>((text) => void process.stdout.write(text)) }
  // a message removes the progress bar before it
  const printLine = (text: string) => {
    progress.clear()
    print(text)
  }
  return {
    progress,
    add: (message) => printLine(renderMessage(message)),
    end: (summary) => printLine(render(summary)),
  }
}

const MAX_CHARACTERS = 200

function renderMessage({ kind, line, id, reason }: Message): string {
  const name = id === undefined ? '' : toPrintable(id)
  const shortened = name.length > MAX_CHARACTERS ? `${name.slice(0, MAX_CHARACTERS)}…` : name
  const place = [line === undefined ? '' : `line ${line}`, shortened].filter((part) => part !== '').join(', ')
  return `${kind}: ${place === '' ? '' : `${place}: `}${reason}`
}

/** One JSON object, written piece by piece. */
function createJsonReport<S extends object>(write: (text: string) => void): Omit<Report<S>, 'progress'> {
  let before = '{"messages":['
  return {
    add(message) {
      write(`${before}\n${JSON.stringify(message)}`)
      before = ','
    },
    end: (summary) => write(`${before === ',' ? '\n' : before}],\n${JSON.stringify(summary).slice(1)}\n`),
  }
}
