// A reporter of node --test: prints the slowest test files, for `node scripts/test.mjs --slowest`.
import { relative } from 'node:path'

const SHOWN = 10

const toSeconds = (ms) => `${(ms / 1000).toFixed(1).padStart(6)} s`

// biome-ignore lint/style/noDefaultExport: node --test uses the default export of a reporter
export default async function* renderSlowest(source) {
  const files = []
  for await (const { type, data } of source) {
    if (type !== 'test:summary') continue
    if (data.file !== undefined) files.push(data)
    else yield `\n${data.counts.tests} tests of ${files.length} files in ${toSeconds(data.duration_ms).trim()}\n`
  }
  files.sort((a, b) => b.duration_ms - a.duration_ms)
  for (const { file, duration_ms, counts } of files.slice(0, SHOWN))
    yield `${toSeconds(duration_ms)}  ${String(counts.tests).padStart(4)} tests  ${relative('.', file)}\n`
}
