import { digestHex } from '../../base/encoding.ts'
import type { PasswordFlaw, PasswordMembers, PasswordScheme, StoredHash } from './scheme.ts'

/** The digests that ArangoDB stores, by their names in `node:crypto`. */
export const METHODS = ['sha256', 'sha1', 'sha224', 'sha384', 'sha512', 'md5'] as const

type Method = (typeof METHODS)[number]

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
  compute: async (clear, { method, salt }) => digestHex(method, salt, clear),
  findWork: () => undefined,
  toStrength: () => 0,
  describe: ({ method }) => `salted ${method}`,
  toSimpleAuthData: ({ method, salt, hash }) => ({ method, salt, hash }),
} satisfies PasswordScheme<SaltedPassword>

export function readSalted(method: unknown, salt: unknown, hash: unknown): SaltedPassword | PasswordFlaw {
  const known = METHODS.find((name) => name === method)
  if (!known) return 'method'
  if (typeof salt !== 'string') return 'salt'
  return typeof hash === 'string' ? { scheme: 'salted', method: known, salt, hash } : 'hash'
}
