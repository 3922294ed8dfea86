import { digestHex } from '../../base/encoding.ts'
import { isLowerHex, PRFS } from '../password-digest.ts'
import {
  BAD_ADMIN_SALT,
  isAdminSalt,
  type PasswordFlaw,
  type PasswordMembers,
  type PasswordScheme,
  type StoredHash,
} from './scheme.ts'

/** SHA-1 of password ++ salt: read for old records; new ones are stored so only where the options say it. */
export interface SimplePassword extends StoredHash {
  readonly scheme: 'simple'
}

export const simpleHash = (clear: string, salt: string): string => digestHex('sha1', clear, salt)

export const SIMPLE = {
  name: 'simple',
  members: ['salt', 'password_sha'],
  isDocumentScheme: true,
  read(members: PasswordMembers): SimplePassword | PasswordFlaw {
    const { salt = '', password_sha: hash } = members
    // a document without any hash belongs to a user without a password; it is not damaged
    if (hash === undefined && members['password_scheme'] === undefined) return 'absent'
    if (typeof salt !== 'string') return 'salt'
    return typeof hash === 'string' ? { scheme: 'simple', salt, hash } : 'hash'
  },
  write: ({ salt, hash }) => ({ password_scheme: 'simple', salt, password_sha: hash }),
  compute: async (clear, { salt }) => simpleHash(clear, salt),
  findWork: () => undefined,
  toStrength: () => 0,
  describe: () => 'simple',
  create: (_parameters, salt) => ({ scheme: 'simple', salt }),
  adminText: {
    read: (text) => (text.startsWith(PREFIX) ? readAdminText(text.slice(PREFIX.length)) : undefined),
    render: ({ hash, salt }) => `${PREFIX}${hash},${salt}`,
  },
} satisfies PasswordScheme<SimplePassword>

const PREFIX = '-hashed-'

function readAdminText(text: string): SimplePassword | string {
  const [hash, salt, ...rest] = text.split(',')
  if (salt === undefined || rest.length > 0) return 'expected -hashed-<hash>,<salt>'
  if (!isLowerHex(hash, PRFS.sha.bytes)) return 'the hash must be 40 lower-case hexadecimal digits'
  return isAdminSalt(salt) ? { scheme: 'simple', salt, hash } : BAD_ADMIN_SALT
}
