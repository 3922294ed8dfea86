// A reporter of node --test: prints the slowest test files, for `node scripts/test.ts --slowest`.
import type { TestEvent } from 'node:test/reporters'

const SHOWN = 10

const toSeconds = (ms: number): string => `${(ms / 1000).toFixed(1).padStart(6)} s`

// biome-ignore lint/style/noDefaultExport: node --test uses the default export of a reporter
export default async function* renderSlowest(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const files: { readonly name: string; readonly ms: number }[] = []
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    // a file is a suite of its group
    if (data.nesting === 0 && data.name.endsWith('.test.ts'))
      files.push({ name: data.name, ms: data.details.duration_ms })
  }
  files.sort((a, b) => b.ms - a.ms)
  for (const { name, ms } of files.slice(0, SHOWN)) yield `${toSeconds(ms)}  ${name}\n`
}
