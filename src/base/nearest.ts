// The word that a misspelt one probably means.

const MAX_COMPARED = 64

/** Edit distance; swapping two neighbours counts as one edit. */
function distance(left: string, right: string): number {
  const [a, b] = [left.slice(0, MAX_COMPARED), right.slice(0, MAX_COMPARED)]
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const now = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const cost = a[row - 1] === b[column - 1] ? 0 : 1
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      now[column] = Math.min(
        at(last, column) + 1,
        at(now, column - 1) + 1,
        at(last, column - 1) + cost,
        isSwapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = now
  }
  return at(last, b.length)
}

const at = (numbers: readonly number[], index: number): number => numbers[index] ?? Number.POSITIVE_INFINITY

/** The most similar word, unless none is similar enough. */
export function findNearest(
  written: string,
  known: Iterable<string>,
  tolerance = Math.min(5, Math.max(2, Math.floor(written.length / 3))),
): string | undefined {
  let best: { readonly word: string; readonly far: number } | undefined
  for (const word of known) {
    const far = distance(written.toLowerCase(), word.toLowerCase())
    if (far <= tolerance && far < (best?.far ?? Number.POSITIVE_INFINITY)) best = { word, far }
  }
  return best?.word
}
