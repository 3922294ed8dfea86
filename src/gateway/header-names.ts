/** What `Connection` names belongs to this connection alone. `undefined`: nothing is named. */
export function listConnectionNames(raw: readonly string[]): Set<string> | undefined {
  let names: Set<string> | undefined
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string
    if (name.length === 10 && name.toLowerCase() === 'connection')
      names = addConnectionNames(names, raw[i + 1] as string)
  }
  return names
}

/** The names of one such header with those of others. */
export function addConnectionNames(before: Set<string> | undefined, value: string): Set<string> | undefined {
  if (NAMES_NOTHING.has(value)) return before
  const names = before ?? new Set()
  for (const item of value.split(',')) names.add(item.trim().toLowerCase())
  for (const name of NEVER_DROPPED) names.delete(name)
  return names
}

/** What nearly every request says. */
const NAMES_NOTHING: ReadonlySet<string> = new Set(['keep-alive', 'Keep-Alive', 'close'])

/** Naming one of these would take from a request what it is, and leave the rest of it to be read otherwise. */
const NEVER_DROPPED: readonly string[] = ['host', 'content-length', 'content-type', 'content-encoding']
