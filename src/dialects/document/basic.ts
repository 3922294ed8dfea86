import { readBase64 } from '../../base/encoding.ts'

/**
 * quirk: reference document 1.2: the scheme in this very spelling with one blank, padding required; the pair `_:_`
 * means "nobody", which is how a browser is made to forget a password.
 */
export const DOCUMENT_BASIC = {
  name: 'default',
  findCredential: (header: string) => (header.startsWith('Basic ') ? header.slice(6) : undefined),
  decode: (encoded: string) => readBase64(encoded),
  isAnonymous: (name: string, password: string) => name === '_' && password === '_',
}
