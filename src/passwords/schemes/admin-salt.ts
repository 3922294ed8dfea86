/** Salts that the text of an administrator's password can contain. */
const SALT = /^[!-+\--~]{1,256}$/

export const BAD_SALT = 'the salt must be 1 to 256 printable ASCII characters without blanks and commas'

export const isAdminSalt = (text: string): boolean => SALT.test(text)
