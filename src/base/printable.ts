const CONTROL = /\p{Cc}|\p{Cf}/gu

/** Escapes control characters, which could move the cursor or change the text on a terminal. */
export const toPrintable = (text: string): string =>
  text.replace(CONTROL, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
