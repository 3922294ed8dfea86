import { type FindSignature, findSignature, type ReadCookie, type Signature } from './cookie-value.ts'

interface RememberedSignature extends Signature {
  readonly salt: string
}

/**
 * Remembers which secret and algorithm signed a cookie: browsers send the same cookie with every request. Only the
 * computation is remembered. Whether that secret, that algorithm and the salt count now is decided with every request,
 * so nothing has to be removed when they change. The cookie handler keeps the cookies, so the entries go with them.
 */
export function createSignatureMemory(): FindSignature {
  const known = new WeakMap<ReadCookie, RememberedSignature>()
  return (cookie, rules) => {
    const { secrets, salt, algorithms } = rules
    const before = known.get(cookie)
    if (before?.salt === salt && secrets.includes(before.secret) && algorithms.includes(before.algorithm)) return before
    const found = findSignature(cookie, rules)
    if (found) known.set(cookie, { ...found, salt })
    return found
  }
}
