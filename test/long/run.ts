// Runs the long forms of tests whose short form is part of `npm test`, one after the other, and prints a summary:
//   npm run test:long -- [names…]             (without names about twenty minutes)
//   npm run test:long -- soak --minutes 30    (what follows a single name is given to it)
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Each program with its arguments. */
const ROWS: Readonly<Record<string, readonly string[]>> = {
  crash: ['crash.ts'],
  faults: ['faults.ts'],
  failover: ['failover.ts'],
  fuzz: ['fuzz.ts'],
  modules: ['../modules/build.test.ts'],
  vectors: ['../passwords/password-digest.test.ts'],
  tokens: ['../keys/jose.test.ts'],
  import: ['../../bench/run.ts', 'import', '--runs=1'],
  bodies: ['attacks/bodies.ts', '--seconds', '10'],
  guesses: ['attacks/guesses.ts'],
  pipelining: ['attacks/pipelining.ts'],
  http2: ['attacks/http2.ts'],
  polls: ['../http/http2.test.ts'],
  store: ['../store/postgres.test.ts'],
  requests: ['../scenario/multi-model/random-requests.test.ts'],
  rotation: ['../scenario/multi-model/rotation.test.ts'],
  'worker-changes': ['../process/worker-changes.test.ts'],
  'worker-life': ['../process/worker-life.test.ts'],
  'worker-cases': ['../conformance/workers.test.ts'],
  'worker-doors': ['../process/worker-doors.test.ts'],
  accessibility: ['../console/accessibility.test.ts'],
  layout: ['../console/layout.test.ts'],
  'console-import': ['../console/delegation.test.ts'],
  'mail-timing': ['mail-timing.ts'],
  soak: ['soak.ts', '--minutes', '5'],
}

/** Run only by name: they need programs that may not be installed. */
const BY_NAME: Readonly<Record<string, readonly string[]>> = {
  nginx: ['proxies.ts', 'nginx'],
  'nginx-cache': ['proxies.ts', 'nginx-cache'],
  'nginx-sign-in': ['proxies.ts', 'nginx-sign-in'],
  'caddy-sign-in': ['proxies.ts', 'caddy-sign-in'],
  caddy: ['proxies.ts', 'caddy'],
  haproxy: ['proxies.ts', 'haproxy'],
  image: ['image.ts'],
  install: ['install.ts'],
}

const ALL = new Map(Object.entries({ ...ROWS, ...BY_NAME }))
const env = { ...process.env, TEST_LONG: '1' }

async function run([program = '', ...args]: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), ...args], { stdio: 'inherit', env })
  const [code] = await once(child, 'exit')
  return code
}

const given = process.argv.slice(2)
const count = given.findIndex((argument) => !ALL.has(argument))
const names = count < 0 ? given : given.slice(0, count)
const options = given.slice(names.length)
if (options.length > 0 && names.length !== 1) {
  console.error(`There is no long test ${options[0]}. There are: ${[...ALL.keys()].join(', ')}`)
  process.exit(2)
}
const summary: string[] = []
for (const name of names.length > 0 ? names : Object.keys(ROWS)) {
  const command = [...(ALL.get(name) ?? []), ...options]
  console.log(`\n== ${name}: ${command.join(' ')}`)
  const startedAt = performance.now()
  const code = await run(command)
  summary.push(`${code === 0 ? 'ok    ' : 'FAILED'} ${name}, ${Math.round((performance.now() - startedAt) / 1000)} s`)
  if (code !== 0) process.exitCode = 1
}
console.log(`\n${summary.join('\n')}`)
