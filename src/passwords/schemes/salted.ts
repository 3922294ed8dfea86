import { digestHex, isMethod, METHODS, type Method } from '../password-digest.ts'
import type { PasswordFlaw, PasswordMembers, PasswordScheme, StoredHash } from './scheme.ts'

/** ArangoDB's digest of salt ++ password. */
export interface SaltedPassword extends StoredHash {
  readonly scheme: 'salted'
  readonly method: Method
}

export const SALTED = {
  name: 'salted',
  members: ['salted_method', 'salt', 'salted_hash'],
  isDocumentScheme: false,
  read: ({ salted_method: method, salt, salted_hash: hash }: PasswordMembers): SaltedPassword | PasswordFlaw =>
    readSalted(method, salt, hash),
  write: ({ method, salt, hash }) => ({ password_scheme: 'salted', salted_method: method, salt, salted_hash: hash }),
  compute: async (clear, { method, salt }) => digestHex(METHODS[method].digest, salt, clear),
  findWork: () => undefined,
  toStrength: () => 0,
  describe: ({ method }) => `salted ${method}`,
  toSimpleAuthData: ({ method, salt, hash }) => ({ method, salt, hash }),
} satisfies PasswordScheme<SaltedPassword>

export function readSalted(method: unknown, salt: unknown, hash: unknown): SaltedPassword | PasswordFlaw {
  if (!isMethod(method)) return 'method'
  if (typeof salt !== 'string') return 'salt'
  return typeof hash === 'string' ? { scheme: 'salted', method, salt, hash } : 'hash'
}
