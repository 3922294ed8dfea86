// What a run has seen: counts for the report, and violations of the invariants.
const MAX_KEPT = 50

export function createLedger() {
  const counts = new Map()
  const violations = []
  return {
    violations,
    count(name, by = 1) {
      counts.set(name, (counts.get(name) ?? 0) + by)
    },
    get: (name) => counts.get(name) ?? 0,
    /** Every count whose name begins so, largest first. */
    list: (prefix) =>
      [...counts]
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, number]) => [name.slice(prefix.length), number]),
    violate(invariant, detail) {
      if (violations.length < MAX_KEPT) violations.push({ invariant, detail, at: new Date().toISOString() })
    },
  }
}
