import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { NO_BROWSER } from '../support/chromium.ts'

const FOLDER = new URL('../../bench/', import.meta.url)

/** Small enough to be done with at once: what they measure is then nothing to go by. */
const SIZES: readonly [name: string, sizes: readonly number[], rows: number][] = [
  ['lookups', [20, 100, 300], 2],
  ['import', [300], 1],
  ['passwords', [20], 3],
  ['startup-users', [10], 2],
  ['storm', [100, 2], 1],
  ['gateway', [40, 4, 0, 1], 6],
  ['gateway-cpu', [40, 4, 0], 6],
  ['session', [40, 4, 0], 6],
  ['gateway-handler', [32, 1], 9],
  ['grants', [32, 0], 2],
  ['overhead', [40, 4, 0], 2],
  ['gateway-stream', [16], 2],
  ['http2', [40, 4, 0, 5], 4],
  ['workers', [40, 4, 0], 9],
  ['changes', [5, 2, 2], 1],
  ['writers', [100, 2], 2],
  ['nodes', [0.2, 1, 10], 2],
  ['store-costs', [4, 2], 4],
  ['users-in-couchdb', [50, 0.05], 3],
  ['users-in-couchdb-memory', [50, 0.05], 2],
  ['console', [0, 2], 2],
]

describe('a bench run with small sizes returns a table', () => {
  let endSharing: () => Promise<void>
  before(async () => {
    const { shareGateway } = await import(new URL('support/gateway.ts', FOLDER).href)
    endSharing = await shareGateway()
  })
  after(() => endSharing())
  for (const [name, sizes, rows] of SIZES) {
    it(name, { skip: name === 'console' && NO_BROWSER }, async () => {
      const { bench } = await import(new URL(`${name}.ts`, FOLDER).href)
      const result = await bench.run(1, sizes)
      assert.equal(result.rows.length, rows)
      for (const row of result.rows) assert.equal(row.length, result.columns.length)
      assert.equal(typeof result.isGoalMet, 'boolean')
    })
  }
})
