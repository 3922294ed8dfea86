/**
 * For processes that several commands or servers of tests share: one iteration of PBKDF2 in place of the default.
 * `cardea init` uses the default whatever the environment says, and each check of the password again: 0.3 s of a
 * processor, half of what the tests of the docs took. Only such processes accept a password that was hashed so.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

/** Of `chttpd_auth.iterations`. */
const DEFAULT = 600_000
const { pbkdf2 } = crypto

crypto.pbkdf2 = (password, salt, iterations, length, digest, done) =>
  pbkdf2(password, salt, iterations === DEFAULT ? 1 : iterations, length, digest, done)
syncBuiltinESMExports()
