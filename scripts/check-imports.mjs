// Checks every import in src/ against the layers, and that no imports form a cycle. Prints the problems and exits with 1.
import { readImportGraph } from './import-graph.ts'
import { LAYERS, PACKAGES, RESERVED, SEPARATE } from './layers.mjs'

const folderOf = (file) => file.split('/')[0]
const isEntryPoint = (file) => !file.includes('/')

function checkLayers(file, target) {
  const [from, to] = [folderOf(file), folderOf(target)]
  if (LAYERS[from] === undefined) return `${file}: the folder ${from} has no layer`
  if (isEntryPoint(target)) return `${file} may not import the entry point ${target}`
  if (from === to) return checkSeparate(file, target)
  if (RESERVED[to] && !RESERVED[to].includes(from))
    return `${file} may not import ${to}: only ${RESERVED[to].join(', ')} may`
  return LAYERS[to] < LAYERS[from] ? undefined : `${file} may not import ${target}: ${to} is not below ${from}`
}

function checkSeparate(file, target) {
  for (const pattern of SEPARATE) {
    const [from, to] = [pattern.exec(file)?.[1], pattern.exec(target)?.[1]]
    if (from && to && from !== to) return `${file} may not import ${target}: ${from} and ${to} are separate`
  }
  return undefined
}

function checkPackage(file, target) {
  if (target.startsWith('node:')) return undefined
  const name = target.startsWith('@') ? target.split('/').slice(0, 2).join('/') : target.split('/')[0]
  return PACKAGES[name]?.test(file) ? undefined : `${file} may not import the package ${name}`
}

/** Tarjan's algorithm: groups of files that import each other. */
function findCycles(graph) {
  const [order, lowest, stack, cycles] = [new Map(), new Map(), [], []]
  const visit = (file) => {
    order.set(file, order.size)
    lowest.set(file, order.get(file))
    stack.push(file)
    for (const next of graph.get(file) ?? []) {
      if (!order.has(next)) visit(next)
      if (stack.includes(next)) lowest.set(file, Math.min(lowest.get(file), lowest.get(next)))
    }
    if (lowest.get(file) !== order.get(file)) return
    const group = stack.splice(stack.indexOf(file))
    if (group.length > 1) cycles.push(group)
  }
  for (const file of graph.keys()) if (!order.has(file)) visit(file)
  return cycles
}

const withoutFolder = (path) => path.replace(/^src\//, '')

const problems = []
const graph = new Map()
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
