// What a run has seen: counts for the report, and violations of the invariants.
const MAX_KEPT = 50

export function createLedger() {
  const counts = new Map<string, number>()
  const violations: { readonly invariant: string; readonly detail: string; readonly at: string }[] = []
  return {
    violations,
    count(name, by = 1) {
      counts.set(name, (counts.get(name) ?? 0) + by)
    },
    get: (name) => counts.get(name) ?? 0,
    /** All counts whose name begins with `prefix`, under the rest of the name. */
    list: (prefix) =>
      [...counts]
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, number]) => [name.slice(prefix.length), number]),
    violate(invariant, detail) {
      if (violations.length < MAX_KEPT) violations.push({ invariant, detail, at: new Date().toISOString() })
    },
  }
}
