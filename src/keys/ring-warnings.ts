import type { LoadedRing } from './secret-files.ts'

/** What is to be said of each load: of a secret that was there at the load before, nothing again. */
export function createRingWarnings(): (load: LoadedRing) => readonly string[] {
  let said: ReadonlySet<string> = new Set()
  return ({ warnings }) => {
    const isNew = (secret: string | undefined) => secret === undefined || !said.has(secret)
    const texts = warnings.filter(({ secret }) => isNew(secret)).map(({ text }) => text)
    said = new Set(warnings.flatMap(({ secret }) => secret ?? []))
    return texts
  }
}
