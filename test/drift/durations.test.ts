import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const MEASURE = /performance\.now\(\) - |process\.(?:cpuUsage|threadCpuUsage|hrtime)\b/

/** Tests that measure time, and why a busy machine does not change their result. */
const MEASURING: Readonly<Record<string, string>> = {
  'test/process/stop.test.ts': 'the measure is that of a work which takes some time on every machine',
  'test/scenario/gateway/faults.test.ts': 'a timeout is not shorter than its option',
  'test/scenario/health.test.ts': 'the checks that are allowed grow with the seconds that pass',
  'test/scenario/limits.test.ts': 'the guesses that are allowed grow with the seconds that pass',
  'test/scenario/metrics.test.ts': 'the pages that are allowed grow with the seconds that pass',
  'test/scenario/tracing.test.ts': 'a stop that waits for the collector takes many times as long',
}

test('no other test compares durations: test/README.md says how to wait instead', () => {
  const files = globSync('test/**/*.test.ts').filter((file) => file !== 'test/drift/durations.test.ts')
  const measuring = files.filter((file) => MEASURE.test(readFileSync(file, 'utf8')))
  assert.deepEqual(measuring.toSorted(), Object.keys(MEASURING))
})
