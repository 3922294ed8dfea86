import type { TokenUse, TokenUseStore } from '../../directory/store-port/sign-ins.ts'
import { type Engine, many, numberOf, type Operation, one, purgeExpired, type Row, textOf } from '../engine.ts'
import { isKey, requireKey } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'

export const createTokenUseStore = (engine: Engine): TokenUseStore => ({
  async putTokenUses(uses) {
    for (const { name, mark } of uses) {
      requireKey(mark, 'the mark of a token')
      requireKey(name, 'a name')
    }
    if (uses.length > 0) await engine.transact(() => putUses(uses))
  },
  async listTokenUses(name) {
    if (!isKey(name)) return []
    return (await engine.ask(one(STATEMENTS.listTokenUses, name))).map(readUse)
  },
  purgeTokenUses: (usedUntil) => purgeExpired(engine, STATEMENTS.purgeTokenUses, usedUntil),
})

/** Sorted: two nodes that write the same tokens lock the rows in the same order. */
function* putUses(uses: readonly TokenUse[]): Operation<void> {
  const sorted = uses.toSorted((a, b) => (a.mark < b.mark ? -1 : 1))
  yield many(
    STATEMENTS.putTokenUse,
    sorted.map(({ mark, name, usedAt }) => [mark, name, usedAt]),
  )
}

const readUse = (row: Row): TokenUse => ({
  name: textOf(row, 'name'),
  mark: textOf(row, 'mark'),
  usedAt: numberOf(row, 'used_at'),
})
