/**
 * Sequences as clients see them: a number, and a mark of the server it counts for. One of another server, or of before
 * a copy was restored, means nothing here: whoever brings it begins anew.
 */
export const renderSequence = (sequence: number, uuid: string): string => JSON.stringify(toSequenceText(sequence, uuid))

export const toSequenceText = (sequence: number, uuid: string): string => `${sequence}-${uuid}`

const SEQUENCE = /^"?(\d{1,15})(?:-([0-9a-fA-F]{0,64}))?"?$/

/** Where to begin; `undefined` where the text is no sequence. */
export function readSequence(text: string, latest: number, uuid: string): number | undefined {
  if (text === 'now' || text === '"now"') return latest
  const [, digits, mark] = SEQUENCE.exec(text) ?? []
  if (digits === undefined) return undefined
  const isForeign = mark !== undefined && mark !== uuid
  return isForeign || Number(digits) > latest ? 0 : Number(digits)
}
