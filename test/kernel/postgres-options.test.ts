import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toPostgresOptions } from '../../src/kernel/kernel.ts'

const STORE = { url: 'postgres://a/b', 'start-timeout': 0, pooling: 'session', 'listen-url': '' } as const

describe('store.max-connections', () => {
  const rows: readonly (readonly [all: number, workers: number, each: number])[] = [
    [10, 1, 10],
    [10, 4, 2],
    [40, 8, 5],
    // one watches the server, and operations need another
    [10, 8, 2],
  ]
  for (const [all, count, each] of rows)
    it(`${all} shared by ${count} workers are ${each} for each`, () => {
      const store = { ...STORE, 'max-connections': all }
      const { maxConnections, processes } = toPostgresOptions(store, { count, place: 1 }, false)
      assert.deepEqual({ maxConnections, processes }, { maxConnections: each, processes: count })
    })

  it('is reported by one worker, and by no command', () => {
    const store = { ...STORE, 'max-connections': 10 }
    assert.equal(toPostgresOptions(store, { count: 2, place: 2 }, false).processes, undefined)
    assert.equal(toPostgresOptions(store, { count: 1, place: 1 }, true).processes, undefined)
  })
})
