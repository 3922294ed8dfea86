// What nodes share about sign-ins: the last one of each account, the last use of each access token, used one-time codes,
// failed password checks.
import type { CodeStore } from '../../directory/store-port/one-time-secrets.ts'
import type {
  FailureBatch,
  FailureStore,
  LastSignIn,
  SignInStore,
  StoredFailures,
  TokenUse,
  TokenUseStore,
} from '../../directory/store-port/sign-ins.ts'
import { type Engine, numberOf, one, purgeExpired, putSorted, type Row, type StoreSteps, textOf } from '../engine.ts'
import { isKey, requireKey, requirePageSize, requireStorableText } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'

export const createCodeStore = (engine: Engine): CodeStore => ({
  async useCodeStep({ factor: { name, version }, step, purgeBefore }) {
    requireKey(name, 'a name')
    // in a transaction, because a repeated statement would reject the code that its first run accepted
    return engine.transact(function* () {
      yield one(STATEMENTS.purgeCodeSteps, purgeBefore)
      return (yield one(STATEMENTS.useCodeStep, name, version, step)).length > 0
    })
  },
})

export const createSignInStore = (engine: Engine): SignInStore => ({
  async putSignIns(signIns) {
    for (const { name, peer } of signIns) {
      requireKey(name, 'a name')
      requireStorableText(peer, 'an address')
    }
    if (signIns.length > 0) await engine.transact(() => putSorted(STATEMENTS.putSignIn, signIns.map(toSignInRow)))
  },
  async listSignIns(names) {
    const rows = await engine.ask(one(STATEMENTS.listSignIns, JSON.stringify(names.filter(isKey))))
    return rows.map(readSignIn)
  },
})

const readSignIn = (row: Row): LastSignIn => ({
  name: textOf(row, 'name'),
  at: numberOf(row, 'signed_in_at'),
  peer: textOf(row, 'peer'),
})

const toSignInRow = ({ name, at, peer }: LastSignIn) => [name, at, peer] as const

export const createTokenUseStore = (engine: Engine): TokenUseStore => ({
  async putTokenUses(uses) {
    for (const { name, mark } of uses) {
      requireKey(mark, 'the mark of a token')
      requireKey(name, 'a name')
    }
    if (uses.length > 0) await engine.transact(() => putSorted(STATEMENTS.putTokenUse, uses.map(toUseRow)))
  },
  async listTokenUses(name) {
    if (!isKey(name)) return []
    return (await engine.ask(one(STATEMENTS.listTokenUses, name))).map(readUse)
  },
  purgeTokenUses: (usedUntil) => purgeExpired(engine, STATEMENTS.purgeTokenUses, usedUntil),
})

const toUseRow = ({ mark, name, usedAt }: TokenUse) => [mark, name, usedAt] as const

const readUse = (row: Row): TokenUse => ({
  name: textOf(row, 'name'),
  mark: textOf(row, 'mark'),
  usedAt: numberOf(row, 'used_at'),
})

export const createFailureStore = (engine: Engine): FailureStore => ({
  addFailures: (batch) => engine.transact(() => addFailures(batch)),
  async listFailures(after, limit) {
    requirePageSize(limit)
    return (await engine.ask(one(STATEMENTS.listFailures, after, limit))).map(readBatch)
  },
  purgeFailures: (nowSeconds) => purgeExpired(engine, STATEMENTS.purgeFailures, nowSeconds),
})

/** The lock keeps the batches of several nodes in order: no batch becomes visible before an earlier one. */
function* addFailures({ node, atMs, expiresAt, failures }: FailureBatch): StoreSteps<void> {
  const [row] = yield one(STATEMENTS.lockFailureSequence)
  const sequence = numberOf(row, 'sequence') + 1
  yield one(STATEMENTS.putFailures, sequence, node, atMs, expiresAt, JSON.stringify(failures))
  yield one(STATEMENTS.writeFailureSequence, sequence)
}

export const readBatch = (row: Row): StoredFailures => ({
  sequence: numberOf(row, 'sequence'),
  node: textOf(row, 'node'),
  atMs: numberOf(row, 'at_ms'),
  expiresAt: numberOf(row, 'expires_at'),
  // only addFailures writes this column
  failures: JSON.parse(textOf(row, 'failures')) as FailureBatch['failures'],
})
