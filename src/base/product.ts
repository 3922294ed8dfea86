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

/** The oldest Node that runs it, as `24.18`. */
export const REQUIRED_NODE: string = engines.node.replace('>=', '')
