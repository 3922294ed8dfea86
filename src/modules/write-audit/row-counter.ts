// Counts the rows of a JSON list while it passes, without keeping it.

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b])
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d])
const ERROR = Buffer.from('error')

/** The reply to a bulk write: a list of objects, of which those that failed have a member `error`. */
export function createRowCounter() {
  let depth = 0
  let isText = false
  let isEscaped = false
  let isName = false
  /** How many bytes of the current name are those of `error`; negative: it is another name. */
  let matched = 0
  let rows = 0
  let failed = 0
  const takeText = (byte: number): void => {
    if (isEscaped) isEscaped = false
    else if (byte === BACKSLASH) isEscaped = true
    else if (byte === QUOTE) {
      isText = false
      if (isName && depth === 2 && matched === ERROR.length) failed += 1
      return
    }
    matched = matched >= 0 && byte === ERROR[matched] ? matched + 1 : -1
  }
  const takeOther = (byte: number): void => {
    if (byte === QUOTE) [isText, matched] = [true, 0]
    else if (OPENING.has(byte)) {
      depth += 1
      if (depth === 2) rows += 1
      isName = true
    } else if (CLOSING.has(byte)) depth -= 1
    else if (byte === COMMA) isName = true
    else if (byte === COLON) isName = false
  }
  return {
    take(chunk: Uint8Array): void {
      for (const byte of chunk) {
        if (isText) takeText(byte)
        else takeOther(byte)
      }
    },
    /** How many rows did not fail. */
    count: (): number => rows - failed,
  }
}
