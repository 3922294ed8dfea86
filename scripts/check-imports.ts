// Checks every import in src/ against the layers, and that no imports form a cycle. Prints the problems and exits with 1.
import { readImportGraph } from './import-graph.ts'
import { LAYERS, PACKAGES, RESERVED, SEPARATE } from './layers.ts'

const folderOf = (file: string): string => file.split('/')[0] ?? ''
const isEntryPoint = (file: string): boolean => !file.includes('/')

function checkLayers(file: string, target: string): string | undefined {
  const [from, to] = [folderOf(file), folderOf(target)]
  if (LAYERS[from] === undefined) return `${file}: the folder ${from} has no layer`
  if (isEntryPoint(target)) return `${file} may not import the entry point ${target}`
  if (from === to) return checkSeparate(file, target)
  if (RESERVED[to] && !RESERVED[to].includes(from))
    return `${file} may not import ${to}: only ${RESERVED[to].join(', ')} may`
  return LAYERS[to] < LAYERS[from] ? undefined : `${file} may not import ${target}: ${to} is not below ${from}`
}

function checkSeparate(file: string, target: string): string | undefined {
  for (const pattern of SEPARATE) {
    const [from, to] = [pattern.exec(file)?.[1], pattern.exec(target)?.[1]]
    if (from && to && from !== to) return `${file} may not import ${target}: ${from} and ${to} are separate`
  }
  return undefined
}

function checkPackage(file: string, target: string): string | undefined {
  if (target.startsWith('node:')) return undefined
  const name = target.startsWith('@') ? target.split('/').slice(0, 2).join('/') : target.split('/')[0]
  return PACKAGES[name]?.test(file) ? undefined : `${file} may not import the package ${name}`
}

/** Tarjan's algorithm: groups of files that import each other. */
function findCycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const [order, lowest] = [new Map<string, number>(), new Map<string, number>()]
  const [stack, cycles]: [string[], string[][]] = [[], []]
  const visit = (file: string): number => {
    const own = order.size
    let low = own
    order.set(file, own)
    stack.push(file)
    for (const next of graph.get(file) ?? []) {
      const reached = order.has(next) ? lowest.get(next) : visit(next)
      if (stack.includes(next)) low = Math.min(low, reached ?? order.get(next) ?? own)
    }
    lowest.set(file, low)
    if (low === own) cycles.push(stack.splice(stack.indexOf(file)))
    return low
  }
  for (const file of graph.keys()) if (!order.has(file)) visit(file)
  return cycles.filter((group) => group.length > 1)
}

const withoutFolder = (path: string): string => path.replace(/^src\//, '')

const problems: string[] = []
const graph = new Map<string, string[]>()
for (const [path, { files, packages }] of readImportGraph('src')) {
  const file = withoutFolder(path)
  const targets = [...files].map(withoutFolder)
  graph.set(file, targets)
  if (isEntryPoint(file)) continue
  const found = [
    ...targets.map((target) => checkLayers(file, target)),
    ...[...packages].map((name) => checkPackage(file, name)),
  ]
  problems.push(...found.filter((problem) => problem !== undefined))
}
for (const group of findCycles(graph)) problems.push(`import cycle: ${group.toReversed().join(' -> ')}`)
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exitCode = 1
}
