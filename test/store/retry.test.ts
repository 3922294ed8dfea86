import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DatabaseError } from 'pg'
import { Refusal } from '../../src/base/errors.ts'
import { IncompatibleStoreError } from '../../src/store/engine.ts'
import { isConnectionLost, isRolledBack, readPostgresError } from '../../src/store/postgres/errors.ts'
import { toDelayMs, withRetries } from '../../src/store/retry.ts'

const rules = { attempts: 3, firstDelayMs: 1, maxDelayMs: 2, isRetryable: (error: unknown) => error === 'again' }

function failing(...failures: string[]): { readonly calls: () => number; readonly work: () => string } {
  let calls = 0
  return {
    calls: () => calls,
    work() {
      calls += 1
      const failure = failures[calls - 1]
      if (failure !== undefined) throw failure
      return 'done'
    },
  }
}

describe('retries', () => {
  it('until the work succeeds', async () => {
    const { work, calls } = failing('again', 'again')
    assert.deepEqual([await withRetries(rules, work), calls()], ['done', 3])
  })

  it('up to the number of attempts', async () => {
    const { work, calls } = failing('again', 'again', 'again')
    await assert.rejects(withRetries(rules, work), (error) => error === 'again')
    assert.equal(calls(), 3)
  })

  it('not for an error that is not retryable', async () => {
    const { work, calls } = failing('other')
    await assert.rejects(withRetries(rules, work), (error) => error === 'other')
    assert.equal(calls(), 1)
  })

  it('delays double up to a maximum, with jitter', () => {
    for (const [attempt, whole] of [
      [1, 10],
      [2, 20],
      [3, 40],
      [4, 50],
      [1000, 50],
    ] as const) {
      const delay = toDelayMs({ firstDelayMs: 10, maxDelayMs: 50 }, attempt)
      assert.ok(delay >= whole / 2 && delay <= whole, `${attempt}: ${delay}`)
    }
  })
})

function databaseError(code: string): DatabaseError {
  const error = new DatabaseError('message', 1, 'error')
  error.code = code
  error.detail = 'Failing row contains (alice, the hash of a password)'
  return error
}

const FAILURES: readonly [row: string, error: unknown, rolledBack: boolean, disconnected: boolean, code: string][] = [
  ['serialisation failure', databaseError('40001'), true, false, 'store_unavailable'],
  ['deadlock', databaseError('40P01'), true, false, 'store_unavailable'],
  ['prepared statement gone', databaseError('26000'), true, false, 'store_unavailable'],
  ['plan of an older schema', databaseError('0A000'), true, false, 'store_unavailable'],
  ['server shut down', databaseError('57P01'), false, true, 'store_unavailable'],
  ['connection failure', databaseError('08006'), false, true, 'store_unavailable'],
  ['statement took too long', databaseError('57014'), false, false, 'store_unavailable'],
  ['lock took too long', databaseError('55P03'), false, false, 'store_unavailable'],
  ['too many connections', databaseError('53300'), false, false, 'store_unavailable'],
  ['disk full', databaseError('53100'), false, false, 'store_unavailable'],
  ['wrong password', databaseError('28P01'), false, false, 'store_unavailable'],
  ['standby', databaseError('25006'), false, false, 'store_unavailable'],
  ['unique violation', databaseError('23505'), false, false, 'store_unavailable'],
  ['syntax error', databaseError('42601'), false, false, 'store_unavailable'],
  ['lost table', databaseError('42P01'), false, false, 'store_unavailable'],
  ['socket', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), false, true, 'store_unavailable'],
  ['several addresses', new AggregateError([new Error('connect ECONNREFUSED')]), false, true, 'store_unavailable'],
  ['a value that is not an error', 'oops', false, true, 'store_unavailable'],
  ['refusal', new Refusal('bad_request'), false, false, 'bad_request'],
  ['incompatible store', new IncompatibleStoreError('no'), false, false, 'defect'],
  ['TypeError', new TypeError('no'), false, false, 'defect'],
]

describe('errors of PostgreSQL', () => {
  for (const [row, error, rolledBack, disconnected, code] of FAILURES) {
    it(row, () => {
      const failure = readPostgresError(error)
      assert.ok(failure instanceof Error)
      assert.doesNotMatch(JSON.stringify([failure, failure.cause, failure.message]), /hash of a password/)
      assert.deepEqual(
        [isRolledBack(error), isConnectionLost(error), failure instanceof Refusal ? failure.code : 'defect'],
        [rolledBack, disconnected, code],
      )
    })
  }
})
