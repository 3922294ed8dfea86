// Finds comments that mean nothing without the line above: `Of …`, `The same …`. Part of `npm run check`.
import { globSync, readFileSync } from 'node:fs'

const DEPENDENT = /^ *(?:\/\/|\/\*\*) (?:Of|The same)\b/

const found = globSync('{src,console/src,client/src}/**/*.{ts,tsx}').flatMap((file) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) => (DEPENDENT.test(line) ? [`${file}:${index + 1}: say what it is about:${line}`] : [])),
)
for (const line of found) console.error(line)
process.exitCode = found.length === 0 ? 0 : 1
