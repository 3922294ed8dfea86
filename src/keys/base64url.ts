/**
 * base64url to bytes, in canonical form only: no padding, no foreign character, no stray bits at the end. So bytes
 * have one spelling, and what is remembered or ended by its text cannot come back in another.
 */
export function readBase64Url(text: string): Buffer | undefined {
  // the decoder is lenient, the encoder is not: a text that is not what the encoder writes is not canonical
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

export const toBase64Url = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString('base64url')
