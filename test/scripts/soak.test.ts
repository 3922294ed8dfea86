import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

const { runSoak } = await import(new URL('../long/soak.ts', import.meta.url).href)

/** `npm run test:long -- soak` runs for minutes. */
const SHORT = { ms: 4000, seed: 1, actors: 4 }

// side by side: most of the time is spent waiting for servers to start and for faults to pass
describe('a soak run', { concurrency: true }, () => {
  it('finds no violation in a short run', async () => {
    const { violations, ledger } = await runSoak({ ...SHORT, leastFaults: 2 })
    assert.deepEqual(violations, [])
    assert.ok(ledger.list('fault ').length > 1, 'faults were injected')
  })

  it('finds no violation while the clock of the node jumps by up to ten minutes', async () => {
    const { violations, ledger } = await runSoak({ ...SHORT, leastFaults: 2, engine: 'sqlite', hasClocks: true })
    assert.deepEqual(violations, [])
    assert.ok(ledger.list('fault ').length > 1, 'faults were injected')
  })

  it('finds a deliberate bug: ended sessions are accepted', async () => {
    const { violations } = await runSoak({
      ...SHORT,
      ms: 120_000,
      sabotage: 'revocation',
      engine: 'sqlite',
      stopsAtViolation: true,
      hasFaults: false,
    })
    assert.ok(violations.some(({ invariant }: { invariant: string }) => invariant === 'revoked credential accepted'))
  })

  it('makes the same choices with the same seed', async () => {
    const { createRandom } = await import(new URL('../long/soak/random.ts', import.meta.url).href)
    const draw = (seed: number) => {
      const random = createRandom(seed)
      return Array.from({ length: 20 }, () => random.below(1000))
    }
    assert.deepEqual(draw(7), draw(7))
    assert.notDeepEqual(draw(7), draw(8))
  })
})
