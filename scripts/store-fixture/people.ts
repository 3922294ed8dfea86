// The users, administrators and settings of a store fixture. All passwords are made up.
import { createHash, pbkdf2Sync } from 'node:crypto'

const SALT = '00112233445566778899aabbccddeeff'
const ITERATIONS = 1000
const PRFS = { sha: 'sha1', sha224: 'sha224', sha256: 'sha256', sha384: 'sha384', sha512: 'sha512' }
const METHODS = ['sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'md5']

export const passwordOf = (name) => `fixture password of ${name}`
const digest = (algorithm, ...parts) => createHash(algorithm).update(parts.join('')).digest('hex')
const derive = (text, prf, iterations = ITERATIONS) => {
  const bytes = createHash(PRFS[prf]).digest().length
  return pbkdf2Sync(text, SALT, iterations, bytes, PRFS[prf]).toString('hex')
}

interface Person {
  readonly name: string
  readonly password: string
  /** That version hashes the password itself. */
  readonly plain?: boolean
  readonly roles?: readonly string[]
  readonly members?: Readonly<Record<string, unknown>>
  readonly totp?: typeof TOTP
  /** Its form can only be imported. */
  readonly isImported?: boolean
}

const user = (name: string, members: Omit<Person, 'name' | 'password'> = {}): Person => ({
  name,
  password: passwordOf(name),
  ...members,
})

/** A user with the stored form of its password, as in a user document. */
const stored = (name: string, toMembers: (text: string) => Readonly<Record<string, unknown>>) =>
  user(name, { members: toMembers(passwordOf(name)) })

const FORMS = [
  stored('simple', (text) => ({ password_scheme: 'simple', salt: SALT, password_sha: digest('sha1', text, SALT) })),
  stored('simple, scheme left out', (text) => ({ salt: SALT, password_sha: digest('sha1', text, SALT) })),
  stored('pbkdf2, prf left out', (text) => ({
    password_scheme: 'pbkdf2',
    salt: SALT,
    iterations: ITERATIONS,
    derived_key: derive(text, 'sha'),
  })),
  ...Object.keys(PRFS).map((prf) =>
    stored(`pbkdf2 ${prf}`, (text) => ({
      password_scheme: 'pbkdf2',
      pbkdf2_prf: prf,
      salt: SALT,
      iterations: ITERATIONS,
      derived_key: derive(text, prf),
    })),
  ),
  ...Object.keys(PRFS).map((prf) =>
    stored(`simple+pbkdf2 ${prf}`, (text) => ({
      password_scheme: 'simple+pbkdf2',
      pbkdf2_prf: prf,
      salt: SALT,
      iterations: ITERATIONS,
      derived_key: derive(digest('sha1', text, SALT), prf),
    })),
  ),
  ...METHODS.map((method) => ({
    ...stored(`salted ${method}`, (text) => ({
      password_scheme: 'salted',
      salted_method: method,
      salt: SALT,
      salted_hash: digest(method, SALT, text),
    })),
    // ArangoDB's form can only be imported
    isImported: true,
  })),
]

export const TOTP = { key: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', algorithm: 'sha', length: 6 }

/** Users who must be able to sign in. */
export const USERS: readonly Person[] = [
  ...FORMS,
  user('plain', { plain: true, roles: ['readers', 'writers'], members: { nickname: 'P', list: [1, 'two', null] } }),
  user('totp', { plain: true, totp: TOTP, members: { totp: TOTP } }),
  user('granted', { plain: true }),
  user('tokens', { plain: true }),
  user('sessions', { plain: true }),
  user('signed-out', { plain: true }),
  user('deleted and made again', { plain: true }),
  // names that later versions refuse for new users
  user('Ame\u0301lie, not in NFC', { plain: true }),
  user('ROOT', { plain: true }),
]

/** Names and passwords that must not sign in. */
export const REFUSED = [
  { name: 'plain', password: 'a wrong password' },
  { name: 'deleted', password: passwordOf('deleted') },
  { name: 'inactive', password: passwordOf('inactive') },
  { name: 'without password', password: '' },
  { name: 'removed-admin', password: passwordOf('removed-admin') },
  { name: 'nonexistent', password: passwordOf('nonexistent') },
]

const administrator = (name: string, toText?: (text: string) => string) => {
  const password = passwordOf(name)
  return { name, password, ...(toText && { text: toText(password) }) }
}

/** `text`: stored as it is, with `raw=true`. */
export const ADMINISTRATORS = [
  administrator('root'),
  administrator('admin-hashed', (text) => `-hashed-${digest('sha1', text, SALT)},${SALT}`),
  ...Object.keys(PRFS).map((prf) =>
    administrator(`admin-pbkdf2-${prf}`, (text) => `-pbkdf2-${derive(text, prf)},${SALT},${ITERATIONS}`),
  ),
  administrator('admin-pbkdf2-named', (text) => `-pbkdf2:sha512-${derive(text, 'sha512')},${SALT},${ITERATIONS}`),
]

/** Set at run time. The long timeout keeps the cookies of the fixture valid for years. */
export const SETTINGS = [
  { section: 'chttpd_auth', key: 'timeout', value: '3153600000' },
  { section: 'chttpd_auth', key: 'public_fields', value: 'name,nickname' },
  { section: 'vendor', key: 'any name', value: 'kept as it is = "yes"' },
]
