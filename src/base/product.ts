import { readFileSync } from 'node:fs'

/** Cardea's own name and version, as package.json has it beside the sources and beside the compiled package. */
export const PRODUCT: { readonly name: string; readonly version: string } = Object.freeze({
  name: 'Cardea',
  version: JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version,
})
