import { readFileSync } from 'node:fs'

/** Name and version. The path to package.json is the same from the sources and from the compiled package. */
export const PRODUCT: { readonly name: string; readonly version: string } = Object.freeze({
  name: 'Cardea',
  version: JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version,
})
