// Runs the properties of the tests for long: npm run test:long -- fuzz [runs]. A failure prints the seed that repeats it.
import { PROPERTIES as VELOCYPACK } from '../base/velocypack.properties.ts'
import { PROPERTIES as INI } from '../config/ini.properties.ts'
import { checkFrames } from '../http/http2.properties.ts'

/** A run of these uses two connections, which takes as long as a hundred texts. */
const CONNECTION_RUNS = 0.01
const ALL = {
  ...INI,
  ...VELOCYPACK,
  'any frames of HTTP/2 leave the door working': (runs: number) => checkFrames(Math.ceil(runs * CONNECTION_RUNS)),
}

const runs = Number(process.argv[2] ?? 100_000)
if (!Number.isSafeInteger(runs) || runs < 1) {
  console.error('usage: npm run test:long -- fuzz [runs]')
  process.exit(2)
}
for (const [name, fails] of Object.entries(ALL)) {
  const started = performance.now()
  const report = await fails(runs)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`${report === undefined ? `held ${runs} times` : 'FAILED'} in ${seconds} s: ${name}`)
  if (report === undefined) continue
  console.error(report)
  process.exitCode = 1
}
