// `cardea import` of a dump of the document database into an empty store. Sizes: users.
import { join } from 'node:path'
import { median } from './figures.ts'
import { startCardea, watchMemory } from './support/child.ts'
import { withFolder, writeConfig } from './support/folder.ts'
import { renderNumber } from './support/measure.ts'
import { writeDump } from './support/users.ts'

const MAX_MIB = 300

function importOnce(users) {
  return withFolder(async (folder) => {
    writeConfig(folder, 1)
    const dump = join(folder, 'users.ndjson')
    await writeDump(dump, users)
    const importing = startCardea(['import', dump, '--from', 'document', '--config', folder, '--json'], { cwd: folder })
    const readPeak = watchMemory(importing.child)
    const code = await importing.ended
    const mib = readPeak()
    const summary = readSummary(importing.output())
    if (code !== 0 || summary?.users.created !== users) throw new Error(`the import failed:\n${importing.output()}`)
    return { seconds: summary.elapsedMs / 1000, mib }
  })
}

/** Finds the summary among the lines about progress. */
function readSummary(output) {
  const json = output.slice(output.indexOf('{"messages"'))
  return JSON.parse(json.slice(0, json.lastIndexOf('}') + 1))
}

export const bench = {
  title: 'Import',
  about: `\`cardea import\` of user documents into an empty store. Goal: under ${MAX_MIB} MiB of memory, at its most.`,
  runs: 2,
  async run(runs, [users = 1_000_000] = []) {
    const results: Awaited<ReturnType<typeof importOnce>>[] = []
    for (let run = 0; run < runs; run += 1) results.push(await importOnce(users))
    const seconds = median(results.map((result) => result.seconds))
    const mib = Math.max(...results.map((result) => result.mib))
    return {
      columns: ['users', 'seconds', 'users a second', 'most memory'],
      rows: [[renderNumber(users), renderNumber(seconds), renderNumber(users / seconds), `${renderNumber(mib)} MiB`]],
      isGoalMet: mib < MAX_MIB,
    }
  },
}
