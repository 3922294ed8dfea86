import { type AccessTokenDeps, verifyPasswordOrToken } from '../../auth/access-token.ts'
import type { PasswordCheck } from '../../auth/basic.ts'
import { readBase64 } from '../../base/encoding.ts'

/**
 * quirk: reference document 1.2: the scheme is spelled exactly so, with one space, and padding is required. The pair
 * `_:_` means anonymous, which is how a browser is made to forget a password.
 */
export const DOCUMENT_BASIC = {
  name: 'default' as const,
  findCredential: (header: string) => (header.startsWith('Basic ') ? header.slice(6) : undefined),
  decode: (encoded: string) => readBase64(encoded),
  isAnonymous: (name: string, password: string) => name === '_' && password === '_',
}

/** At the document door an access token needs its user's name beside it. */
export const createDocumentCheck =
  (deps: AccessTokenDeps): PasswordCheck =>
  async (name, password, source) => {
    const attempt = { name, password, source, handler: DOCUMENT_BASIC.name }
    if (name !== '') return verifyPasswordOrToken(deps, attempt)
    const account = await deps.signIn(attempt)
    return account && { account, token: undefined }
  }
