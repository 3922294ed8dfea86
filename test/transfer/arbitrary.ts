import fc from 'fast-check'
import { checkName, checkRole, checkWord } from '../../src/directory/users/names.ts'
import {
  type AccessToken,
  type Grant,
  type GrantLevel,
  type Json,
  type JsonObject,
  type User,
  withField,
} from '../../src/directory/users/user.ts'
import { PASSWORD_MEMBERS, readDocumentPassword, type StoredPassword } from '../../src/passwords/schemes.ts'

/** With the prototype that objects out of JSON have. */
const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>

const text = fc
  .string({
    unit: fc.oneof(fc.constantFrom('a', '"', '\\', '9', '_', '=', '[', ' ', 'ž', '🦊'), fc.string()),
    maxLength: 8,
  })
  // Node 26.10: once JSON.parse has seen the name `\`, it takes `\n` and its like for it
  .filter((each) => each !== '\\')

const word = (check: (text: string) => unknown) =>
  fc.oneof(fc.constantFrom('ann', '0', 'constructor', 'a b', 'žofie'), text).filter((name) => check(name) === undefined)

export const name = word(checkName)
export const roles = fc.uniqueArray(
  word(checkRole).filter((role) => !role.startsWith('_')),
  { maxLength: 3 },
)

const json: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>
// numbers that JSON has no two spellings of
const sound = json
  .filter((value) => !JSON.stringify(value).includes('"\\\\":'))
  .map((value): Json => JSON.parse(JSON.stringify(value)))

export const members = fc.uniqueArray(
  fc.tuple(
    text.filter(
      (member) => !/^_|^(?:name|type|roles|password|preserve_salt|totp)$/.test(member) && !PASSWORD_MEMBERS.has(member),
    ),
    sound,
  ),
  { selector: ([member]) => member, maxLength: 3 },
)

const hex = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length })
const prf = fc.constantFrom('sha', 'sha224', 'sha256', 'sha384', 'sha512')

export const pbkdf2: fc.Arbitrary<StoredPassword> = record({
  scheme: fc.constantFrom('pbkdf2', 'simple+pbkdf2'),
  prf,
  iterations: fc.integer({ min: 1, max: 1_000_000 }),
  salt: text,
  hash: hex(40),
}).map((password) => password as StoredPassword)
export const simple: fc.Arbitrary<StoredPassword> = record({
  scheme: fc.constant('simple'),
  salt: text,
  hash: hex(40),
})
export const salted: fc.Arbitrary<StoredPassword> = record({
  scheme: fc.constant('salted'),
  method: fc.constantFrom('sha256', 'md5'),
  salt: text,
  hash: hex(64),
})
/** As a document may have left it. */
const foreign: fc.Arbitrary<StoredPassword> = fc
  .record(
    {
      password_scheme: fc.constantFrom('pbkdf2', 'simple', 'argon2id', 'md5crypt', 7),
      derived_key: hex(40),
      iterations: sound,
      salt: sound,
    },
    { requiredKeys: [], noNullPrototype: true },
  )
  .map(readDocumentPassword)
export const password = fc.oneof(pbkdf2, simple, salted, foreign)

const level = fc.constantFrom<GrantLevel>('rw', 'ro', 'none')
// on all databases only all collections can be granted
const place = word(checkWord).filter((each) => !each.startsWith('_') && each !== '*')
const grant: fc.Arbitrary<Grant> = record({
  level: fc.option(level, { nil: undefined }),
  collections: fc.array(fc.tuple(place, level), { maxLength: 2 }).map((entries) => new Map(entries)),
}).filter((each) => each.level !== undefined || each.collections.size > 0)
const grants = fc.array(fc.tuple(place, grant), { maxLength: 3 }).map((entries) => new Map(entries))

const object: fc.Arbitrary<JsonObject> = fc.dictionary(text, sound, { maxKeys: 2, noNullPrototype: true })

const names = fc.array(text, { minLength: 1, maxLength: 2 })

const token: fc.Arbitrary<AccessToken> = fc
  .tuple(
    record({
      id: fc.nat(),
      name: text,
      createdAt: fc.nat(),
      validUntil: fc.nat(),
      fingerprint: text,
      digest: hex(64),
      generation: fc.nat(),
    }),
    fc.constantFrom('databases', 'services', undefined),
    names,
    fc.boolean(),
  )
  .map(([each, key, list, isReadOnly]) => ({
    ...each,
    ...(key && { [key]: list }),
    ...(key === 'databases' && isReadOnly && { access: 'ro' as const }),
  }))

export const user: fc.Arbitrary<User> = record({
  kind: fc.constant('user' as const),
  name,
  isActive: fc.boolean(),
  password,
  sessionEpoch: record({ generation: fc.nat(), seconds: fc.nat() }),
  document: record({
    revision: fc.tuple(fc.integer({ min: 1, max: 1000 }), hex(32)).map(([number, digest]) => `${number}-${digest}`),
    roles,
    members,
  }),
  multiModel: record({ grants, extra: object, config: object, tokens: fc.array(token, { maxLength: 2 }) }),
})

// without roles: the next sign-in at the provider gives them
const links = fc.array(record({ provider: fc.constant('staff'), issuer: text, subject: text, linkedAt: fc.nat() }), {
  minLength: 1,
  maxLength: 2,
})

const verified = { text: fc.constantFrom('Ann@example.com', 'b+c@xn--bcher-kva.example'), verifiedAt: fc.nat() }
const address = fc.oneof(
  record(verified),
  record({ ...verified, provenBy: fc.constantFrom('link' as const, 'undo' as const, 'provider' as const) }),
)

/** With an expiry date, a required password change, accounts at identity providers and an address, or without. */
export const limitedUser: fc.Arbitrary<User> = fc
  .tuple(
    user,
    fc.option(fc.nat(), { nil: undefined }),
    fc.boolean(),
    fc.option(links, { nil: undefined }),
    fc.option(address, { nil: undefined }),
  )
  .map(([each, expiresAt, mustChange, external, verified]) => {
    const limited = withField(withField(each, 'mustChangePassword', mustChange), 'expiresAt', expiresAt)
    return withField(withField(limited, 'links', external), 'address', verified)
  })
