import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { ROOT } from './process.ts'

/** The version Cardea requires. */
export const NEEDED: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).engines.node.match(
  /[\d.]+/,
)[0]

const versionOf = (node: string): string => execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1)

const numberOf = (version: string): number => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major * 1000 + minor
}

/** Makes this Node report an older version; processes it starts report the real one. */
const PRETENDER = 'Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})'

/** A Node of this machine that is too old for Cardea, or this one with a wrong version. */
function findOlder(): { readonly command: readonly string[]; readonly version: string } {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const node = join(folder, 'node')
    if (folder.includes('node_modules') || !existsSync(node)) continue
    const version = versionOf(node)
    if (numberOf(version) < numberOf(NEEDED)) return { command: [node], version }
  }
  return { command: [process.execPath, '--import', `data:text/javascript,${PRETENDER}`], version: '20.0.0' }
}

export const OLDER = findOlder()
