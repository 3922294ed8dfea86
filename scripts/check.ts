// Runs every check of the sources side by side and prints the output of those that fail.
import { execFile } from 'node:child_process'

const CHECKS = {
  types: 'tsc --noEmit -p tsconfig.json',
  'types of tools, benches and long tests': 'tsc --noEmit -p tsconfig.tools.json',
  'types of the console': 'tsc --noEmit -p console/tsconfig.json',
  'types of the client': 'tsc --noEmit -p client/tsconfig.json',
  lint: 'biome check .',
  imports: 'node scripts/check-imports.ts',
  'unused code': 'knip --cache --no-config-hints',
  'code that only tests use':
    'knip --cache --cache-location node_modules/.cache/knip-production --no-config-hints --production',
}

const run = ([name, command]) =>
  new Promise((resolve) => {
    const [program, ...args] = command.split(' ')
    execFile(program, args, { maxBuffer: Number.POSITIVE_INFINITY }, (error, stdout, stderr) => {
      if (error)
        console.error(`${name} (${command}):\n${stdout}${stderr}${error.code === 'ENOENT' ? error.message : ''}`)
      resolve(!error)
    })
  })

const results = await Promise.all(Object.entries(CHECKS).map(run))
process.exitCode = results.every(Boolean) ? 0 : 1
