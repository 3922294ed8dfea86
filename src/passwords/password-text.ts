/**
 * What keeps a text from being anybody's password, as a sentence: hashing cannot tell it from another. Halves of
 * surrogate pairs all become one character in UTF-8; HMAC, and so PBKDF2, fills short keys up with zeros.
 */
export function checkPasswordText(password: string): string | undefined {
  if (!password.isWellFormed()) return 'It holds half of a surrogate pair, which is no character.'
  return password.includes('\0') ? 'It holds the character NUL.' : undefined
}

export const canBePassword = (password: string): boolean => checkPasswordText(password) === undefined
