// A reporter of `node --test` that names the files in which a test failed, one per line. In a group each file is a
// suite; a group that fails as a whole is named by its path.
import type { TestEvent } from 'node:test/reporters'

// biome-ignore lint/style/noDefaultExport: the runner takes a reporter from the default export
export default async function* nameFailures(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const named = new Set<string>()
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.nesting > 0 || data.todo !== undefined || named.has(data.name)) continue
    named.add(data.name)
    yield `${data.name}\n`
  }
}
