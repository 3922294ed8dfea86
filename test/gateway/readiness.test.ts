import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import { UpstreamReadiness } from '../../src/gateway/readiness.ts'
import type { UpstreamFinding } from '../../src/gateway/upstream-check.ts'

type Problem = UpstreamFinding['problem']

/** The health of a door whose servers a and b were inspected, with these problems of each. */
async function findHealth(...problems: readonly (readonly Problem[])[]) {
  const urls = ['http://a', 'http://b'].slice(0, problems.length)
  const findings = urls.flatMap((upstream, server) =>
    (problems[server] ?? []).map((problem) => ({ upstream, problem, reason: 'why', check: 'what' })),
  )
  const figures = { isUp: true, connections: 0, requests: 0, retries: 0 }
  const upstream = {
    isSet: () => true,
    inspect: async () => findings,
    checkHealth: async () => ({ kind: 'up' }) as const,
    listServers: () => urls.map((url) => ({ url, ...figures })),
  }
  const readiness = new UpstreamReadiness([{ door: 'document', upstream, healthPath: '/_up' }], SILENT_LOG)
  readiness.inspect()
  await readiness.settled()
  readiness.stop()
  return readiness.checks()[0]?.find()
}

describe('the upstream servers of a door', () => {
  const rows: readonly (readonly [
    a: readonly Problem[],
    b: readonly Problem[] | undefined,
    state: string,
    reason?: string,
  ])[] = [
    [[], [], 'ok'],
    [['failed'], undefined, 'failed', 'http://a failed: why'],
    [['unreachable'], [], 'warning', 'http://a unreachable: why'],
    [['failed'], [], 'warning', 'http://a failed: why'],
    [[], ['failed'], 'warning', 'http://b failed: why'],
    [['failed'], ['failed'], 'failed', 'http://a failed: why; http://b failed: why'],
    [['failed'], ['unreachable'], 'failed', 'http://a failed: why'],
    // it gets its share of the requests, and treats the clients as others
    [['identity rejected'], [], 'failed', 'http://a identity rejected: why'],
    [['open'], [], 'failed', 'http://a open: why'],
    // found before it was reached
    [['unreachable'], undefined, 'ok'],
  ]
  for (const [a, b, state, reason] of rows)
    it(`with ${a.join() || 'nothing'}${b ? ` and ${b.join() || 'nothing'}` : ''} are ${state}`, async () => {
      const problem = await findHealth(a, ...(b ? [b] : []))
      assert.equal(problem?.reason, reason)
      assert.equal(problem ? (problem.isWarning ? 'warning' : 'failed') : 'ok', state)
    })
})
