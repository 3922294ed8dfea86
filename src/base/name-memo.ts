/** Hostile names must not fill the memory. */
const MAX_NAMES = 2000

/** What is worked out of a name, once for each that comes again and again. */
export function createNameMemo<T extends NonNullable<unknown>>(judge: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>()
  return (name) => {
    const before = known.get(name)
    if (before !== undefined) return before
    const verdict = judge(name)
    if (known.size < MAX_NAMES) known.set(name, verdict)
    return verdict
  }
}
