import { readBase64 } from '../../base/encoding.ts'

/** The scheme in any case, ended by the first blank; further blanks do not count, and padding may be absent. */
export const MULTI_MODEL_BASIC = {
  name: 'basic',
  findCredential: (header: string) => /^basic +(.*)$/i.exec(header)?.[1],
  decode: (encoded: string) => readBase64(encoded, 'lax'),
  isAnonymous: () => false,
}
