// Runs the long forms of tests whose short form is part of `npm test`, one after the other, and prints a summary:
//   node scripts/test-long.mjs [names…]     (about twenty minutes)
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Each script with its arguments. */
const ROWS = {
  crash: ['crash.mjs'],
  faults: ['faults.mjs'],
  fuzz: ['fuzz.mjs'],
  vectors: ['../test/passwords/password-digest.test.ts'],
  import: ['bench.mjs', 'import', '--runs=1'],
  bodies: ['attacks/bodies.mjs', '--seconds', '10'],
  guesses: ['attacks/guesses.mjs'],
  pipelining: ['attacks/pipelining.mjs'],
  soak: ['soak.mjs', '--minutes', '5'],
}

const env = { ...process.env, TEST_LONG: '1' }

async function run([script, ...args]) {
  const file = fileURLToPath(new URL(script, import.meta.url))
  const [code] = await once(spawn(process.execPath, [file, ...args], { stdio: 'inherit', env }), 'exit')
  return code
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(ROWS)
const unknown = names.filter((name) => !Object.hasOwn(ROWS, name))
if (unknown.length > 0) {
  console.error(`There is no long test ${unknown.join(', ')}. There are: ${Object.keys(ROWS).join(', ')}`)
  process.exit(2)
}
const summary = []
for (const name of names) {
  console.log(`\n== ${name}: node scripts/${ROWS[name].join(' ')}`)
  const startedAt = performance.now()
  const code = await run(ROWS[name])
  summary.push(`${code === 0 ? 'ok    ' : 'FAILED'} ${name}, ${Math.round((performance.now() - startedAt) / 1000)} s`)
  if (code !== 0) process.exitCode = 1
}
console.log(`\n${summary.join('\n')}`)
