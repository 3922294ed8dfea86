/** Recovery codes and password links: used once, on any node. */
import type {
  FactorKey,
  PasswordLink,
  PasswordLinkStore,
  RecoveryCodeStore,
} from '../../directory/store-port/one-time-secrets.ts'
import { type Engine, many, numberOf, type Operation, one, type Row, textOf } from '../engine.ts'
import { isKey, requireKey } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'

export const createRecoveryCodeStore = (engine: Engine): RecoveryCodeStore => ({
  async putRecoveryCodes(factor, digests) {
    requireKey(factor.name, 'a name')
    await engine.transact(() => putRecoveryCodes(factor, digests))
  },
  async useRecoveryCode({ name, version }, digest) {
    if (!isKey(name)) return false
    // in a transaction, because a repeated statement would reject the code that its first run accepted
    return engine.transact(() => isDeleted(name, version, digest))
  },
  async countRecoveryCodes({ name, version }) {
    if (!isKey(name)) return 0
    return numberOf((await engine.ask(one(STATEMENTS.countRecoveryCodes, name, version)))[0], 'count')
  },
})

function* putRecoveryCodes({ name, version }: FactorKey, digests: readonly string[]): Operation<void> {
  yield one(STATEMENTS.removeRecoveryCodes, name)
  if (digests.length > 0)
    yield many(
      STATEMENTS.putRecoveryCode,
      digests.map((digest) => [name, version, digest]),
    )
}

function* isDeleted(name: string, version: string, digest: string): Operation<boolean> {
  return (yield one(STATEMENTS.useRecoveryCode, name, version, digest)).length > 0
}

export const createPasswordLinkStore = (engine: Engine): PasswordLinkStore => ({
  async putPasswordLink(link, nowSeconds) {
    requireKey(link.name, 'a name')
    await engine.transact(() => putPasswordLink(link, nowSeconds))
  },
  async findPasswordLink(digest) {
    const [row] = await engine.ask(one(STATEMENTS.findPasswordLink, digest))
    return row && readLink(row)
  },
  async removePasswordLink(digest) {
    await engine.ask(one(STATEMENTS.removePasswordLink, digest))
  },
})

function* putPasswordLink({ name, digest, version, expiresAt }: PasswordLink, nowSeconds: number): Operation<void> {
  yield one(STATEMENTS.purgePasswordLinks, nowSeconds)
  yield one(STATEMENTS.putPasswordLink, name, digest, version, expiresAt)
}

const readLink = (row: Row): PasswordLink => ({
  name: textOf(row, 'name'),
  digest: textOf(row, 'digest'),
  version: textOf(row, 'version'),
  expiresAt: numberOf(row, 'expires_at'),
})
