import { readFileSync } from 'node:fs'

/** The path is the same from the sources and from the compiled package. */
const { version, engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** Name and version. */
export const PRODUCT: { readonly name: string; readonly version: string } = Object.freeze({ name: 'Cardea', version })

/** The oldest Node that runs it, as `24.18`. */
export const REQUIRED_NODE: string = engines.node.replace('>=', '')
