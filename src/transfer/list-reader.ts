// Reads a plain list for the command line. A cell may have several lines, so the whole list is read at once.
import { readUtf8 } from '../base/encoding.ts'
import { readDraft } from './draft.ts'
import type { Found } from './dump.ts'
import { type ListProblem, readPlainList, toDraftMembers } from './plain-list.ts'
import { type RecordReading, toReason } from './records.ts'

/** A million users have about as much. */
const MAX_LIST_BYTES = 64 * 1024 * 1024
const BYTE_ORDER_MARK = /^\uFEFF/

export class ListReader {
  #chunks: Uint8Array[] = []
  #bytes = 0

  push(chunk: Uint8Array): readonly Found[] {
    this.#bytes += chunk.length
    if (this.#bytes <= MAX_LIST_BYTES) this.#chunks.push(chunk)
    return []
  }

  end(): readonly Found[] {
    if (this.#bytes > MAX_LIST_BYTES) return [toRefused({ reason: `The list is larger than ${MAX_LIST_BYTES} bytes.` })]
    const text = readUtf8(Buffer.concat(this.#chunks))?.replace(BYTE_ORDER_MARK, '')
    if (text === undefined) return [toRefused({ reason: 'The list is not UTF-8.' })]
    const { users, problems } = readPlainList(text)
    // with a wrong first line no row means what was meant
    const ofFile = problems.filter(({ line = 1 }) => line === 1)
    if (ofFile.length > 0 && !text.startsWith('{')) return ofFile.map(toRefused)
    return [
      ...users.map(({ line, user }) => ({ line, size: 0, reading: toReading(toDraftMembers(user)) })),
      ...Map.groupBy(problems, ({ line }) => line)
        .values()
        .map(([first, ...others]) =>
          toRefused({ ...first, reason: [first, ...others].map((problem) => problem?.reason).join(' ') }),
        ),
    ]
  }
}

const toRefused = ({ line, name, reason }: ListProblem): Found => ({
  ...(line !== undefined && { line }),
  size: 0,
  reading: { kind: 'refused', ...(name !== undefined && { id: name }), reason },
})

function toReading(members: ReturnType<typeof toDraftMembers>): RecordReading {
  const { name: id } = members
  try {
    return { kind: 'user', id, draft: readDraft(members), notes: [] }
  } catch (error) {
    return { kind: 'refused', id, reason: toReason(error) }
  }
}
