/** Recovery codes: used once, on any node. */
import type { RecoveryCodeStore } from '../../directory/store-port/one-time-secrets.ts'
import { type Engine, many, numberOf, one } from '../engine.ts'
import { isKey, requireKey } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'

export const createRecoveryCodeStore = (engine: Engine): RecoveryCodeStore => ({
  async putRecoveryCodes({ name, version }, digests) {
    requireKey(name, 'a name')
    const rows = digests.map((digest) => [name, version, digest])
    await engine.transact(function* () {
      yield one(STATEMENTS.removeRecoveryCodes, name)
      yield one(STATEMENTS.removeOtherCodeSteps, name, version)
      if (rows.length > 0) yield many(STATEMENTS.putRecoveryCode, rows)
    })
  },
  async useRecoveryCode({ name, version }, digest) {
    if (!isKey(name)) return false
    // in a transaction, because a repeated statement would reject the code that its first run accepted
    return engine.transact(function* () {
      return (yield one(STATEMENTS.useRecoveryCode, name, version, digest)).length > 0
    })
  },
  async countRecoveryCodes({ name, version }) {
    if (!isKey(name)) return 0
    return numberOf((await engine.ask(one(STATEMENTS.countRecoveryCodes, name, version)))[0], 'count')
  },
})
