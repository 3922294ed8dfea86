// The imports between source files, types and values alike.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, sep } from 'node:path'

const IMPORT =
  /^(?:import|export)\s(?<type>type\s)?[^'";]*?from '(?<from>[^']+)'|^import '(?<bare>[^']+)'|\bimport\('(?<later>[^']+)'\)/gm

export interface Imports {
  /** Paths of the files it imports, from the root of the checkout. */
  readonly files: ReadonlySet<string>
  /** The same without those of which only types are imported. */
  readonly loaded: ReadonlySet<string>
  readonly packages: ReadonlySet<string>
}

export type ImportGraph = ReadonlyMap<string, Imports>

/** Of every TypeScript file in these folders, by its path from the root of the checkout. */
export function readImportGraph(...folders: readonly string[]): ImportGraph {
  const paths = globSync(folders.map((folder) => `${folder}/**/*.ts`)).map((path) => path.replaceAll(sep, '/'))
  return new Map(paths.sort().map((path) => [path, readImports(path)]))
}

function readImports(path: string): Imports {
  const [files, loaded, packages] = [new Set<string>(), new Set<string>(), new Set<string>()]
  for (const { groups = {} } of readFileSync(path, 'utf8').matchAll(IMPORT)) {
    const specifier = groups['from'] ?? groups['bare'] ?? groups['later'] ?? ''
    const target = normalize(join(dirname(path), specifier)).replaceAll(sep, '/')
    if (!specifier.startsWith('.')) packages.add(specifier)
    else files.add(target)
    if (specifier.startsWith('.') && groups['type'] === undefined) loaded.add(target)
  }
  return { files, loaded, packages }
}

/** Every file that `start` imports, directly or through others, with the number of steps. */
export function findDistances(graph: ImportGraph, start: string): Map<string, number> {
  const distances = new Map([[start, 0]])
  for (const [path, distance] of distances)
    for (const next of graph.get(path)?.loaded ?? []) if (!distances.has(next)) distances.set(next, distance + 1)
  return distances
}
