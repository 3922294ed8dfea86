import { readFileSync } from 'node:fs'

/** In a program that a bundler has put into one file, this path is nothing, or the package of that program. */
const BUNDLED = { version: 'bundled', engines: { node: '>=0' } }

/** The path is the same from the sources and from the compiled package. */
function readPackage(): typeof BUNDLED {
  try {
    const found = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    return found.name === 'cardea' ? found : BUNDLED
  } catch {
    return BUNDLED
  }
}

const { version, engines } = readPackage()

/** Name and version. */
export const PRODUCT: { readonly name: string; readonly version: string } = Object.freeze({ name: 'Cardea', version })

const [, oldest = '0', next] = /^>=(\S+)(?: <(\d+))?/.exec(engines.node) ?? []

/** The oldest Node that runs it, as `24.18`. */
export const REQUIRED_NODE: string = oldest

/** Whether it was tested with this major version of Node. A later one may lack internals that Cardea uses. */
export const isKnownNode = (): boolean =>
  next === undefined || Number.parseInt(process.versions.node, 10) < Number(next)
