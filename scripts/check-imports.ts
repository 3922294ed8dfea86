// Checks every import in src/ against the layers, that no imports form a cycle, that no two files export the same name,
// and that uses of what Node does not document stay in their folder. Prints the problems and exits with 1.
import { readFileSync } from 'node:fs'
import { readImportGraph } from './import-graph.ts'
import {
  INTERNALS,
  INTERNALS_FOLDER,
  LAYERS,
  MODULE_LISTS,
  moduleOf,
  OPTIONS_FILE,
  PACKAGES,
  RESERVED,
  readNeeds,
  SEPARATE,
} from './layers.ts'

const folderOf = (file: string): string => file.split('/')[0] ?? ''
const isEntryPoint = (file: string): boolean => !file.includes('/')

function checkLayers(file: string, target: string): string | undefined {
  const [from, to] = [folderOf(file), folderOf(target)]
  if (LAYERS[from] === undefined) return `${file}: the folder ${from} has no layer`
  const misused = checkModules(file, target)
  if (misused !== undefined) return misused
  if (MODULE_LISTS.includes(target)) return undefined
  if (isEntryPoint(target)) return `${file} may not import the entry point ${target}`
  if (from === to) return checkSeparate(file, target)
  if (RESERVED[to] && !RESERVED[to].includes(from))
    return `${file} may not import ${to}: only ${RESERVED[to].join(', ')} may`
  return LAYERS[to] < LAYERS[from] ? undefined : `${file} may not import ${target}: ${to} is not below ${from}`
}

/** The core imports no module. A module imports another one only if its manifest needs it. */
function checkModules(file: string, target: string): string | undefined {
  const [from, to] = [moduleOf(file), moduleOf(target)]
  if (MODULE_LISTS.includes(target))
    return LAYERS[folderOf(file)] > LAYERS['modules'] ? undefined : `${file} may not import ${target}`
  if (OPTIONS_FILE.test(file) && LAYERS[folderOf(target)] > LAYERS['directory'])
    return `${file} may not import ${target}: the options of a module import nothing above directory`
  if (to === undefined || from === to) return undefined
  if (from === undefined) return `${file} may not import ${target}: only ${MODULE_LISTS.join(' and ')} name modules`
  const isNeeded = readNeeds(readFileSync(`src/modules/${from}/index.ts`, 'utf8')).includes(to)
  return isNeeded ? undefined : `${file} may not import ${target}: the manifest of ${from} does not need ${to}`
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

function checkInternals(file: string): string[] {
  if (INTERNALS_FOLDER.test(file)) return []
  const text = readFileSync(`src/${file}`, 'utf8')
  return Object.entries(INTERNALS).flatMap(([name, pattern]) => {
    const [found] = pattern.exec(text) ?? []
    return found === undefined ? [] : [`${file} may not use ${name} (${found}): only base/node-internals may`]
  })
}

const EXPORTED = /^export (?:async |abstract )*(?:function\*?|const|class|interface|type) (\w+)/gm
/** They offer the same functions, each for its kind of request. */
const ADAPTERS = /^(express|fastify|web)\.ts$/

/** A name that two files export means two things, and an editor imports the wrong one. */
function checkNames(files: Iterable<string>): string[] {
  const homes = new Map<string, Set<string>>()
  for (const file of files) {
    const home = file.replace(ADAPTERS, 'the adapters')
    for (const [, name = ''] of readFileSync(`src/${file}`, 'utf8').matchAll(EXPORTED))
      homes.set(name, (homes.get(name) ?? new Set()).add(home))
  }
  return [...homes]
    .filter(([, found]) => found.size > 1)
    .map(([name, found]) => `${name} is exported by ${[...found].join(' and ')}: give one another name`)
}

/** The types of the schemas are those of the wire. */
const WIRE_TYPE = /^export type (?!\w+View\b)(\w+) =.*\bStatic<typeof/gm

const checkWireTypes = (file: string): string[] =>
  Array.from(
    readFileSync(`src/${file}`, 'utf8').matchAll(WIRE_TYPE),
    ([, name]) => `${file}: the type ${name} of the wire must end in View`,
  )

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
  problems.push(...checkInternals(file), ...checkWireTypes(file))
  if (isEntryPoint(file)) continue
  const found = [
    ...targets.map((target) => checkLayers(file, target)),
    ...[...packages].map((name) => checkPackage(file, name)),
  ]
  problems.push(...found.filter((problem) => problem !== undefined))
}
problems.push(...checkNames(graph.keys()))
for (const group of findCycles(graph)) problems.push(`import cycle: ${group.toReversed().join(' -> ')}`)
if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exitCode = 1
}
