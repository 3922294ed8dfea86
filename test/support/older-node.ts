import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { ROOT } from './process.ts'

/** The version Cardea asks for. */
export const NEEDED: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).engines.node.slice(2)

const versionOf = (node: string): string => execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1)

const numberOf = (version: string): number => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major * 1000 + minor
}

/** Says that it is older, and is not. Only what it starts knows its real version. */
const PRETENDER = 'Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})'

/** The Node of this machine where it is too old for Cardea, else this one in its place. */
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
