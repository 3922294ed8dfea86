// Runs every check of the sources side by side and prints the output of those that fail.
import { execFile } from 'node:child_process'

/** Checks again what depends on files that changed: the second time takes a quarter. */
const toTypeCheck = (config) =>
  `tsc --noEmit --incremental --tsBuildInfoFile node_modules/.cache/tsc/${config.replaceAll('/', '-')} -p ${config}`

const CHECKS = {
  types: toTypeCheck('tsconfig.json'),
  'types of tools, benches and long tests': toTypeCheck('tsconfig.tools.json'),
  'types of the console': toTypeCheck('console/tsconfig.json'),
  'types of the client': toTypeCheck('client/tsconfig.json'),
  lint: 'biome check .',
  imports: 'node scripts/check-imports.ts',
  comments: 'node scripts/check-comments.ts',
  'figures of modules': 'node scripts/module-figures.ts --check',
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
