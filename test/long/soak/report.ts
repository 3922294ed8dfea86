// The report of a run, as text.
const mib = (bytes) => (Number.isFinite(bytes) ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : 'not measured')

const COUNTS = [
  'requests',
  'signed in',
  'credentials accepted',
  'credentials rejected',
  'credentials revoked',
  'revoked credentials tried',
  'forged credentials tried',
  'writes acknowledged',
  'records read',
  'decisions explained',
]

export function renderReport({ ledger, memory, seed, ms, violations }) {
  const line = (name, value) => `  ${name.padEnd(38)} ${value}`
  return [
    `\nSoak run of ${Math.round(ms / 1000)} s, seed ${seed}`,
    'load',
    ...COUNTS.map((name) => line(name, ledger.get(name))),
    'responses by status',
    ...ledger
      .list('status ')
      .sort()
      .map(([status, number]) => line(status, number)),
    'faults',
    ...ledger
      .list('fault ')
      .sort()
      .map(([name, number]) => line(name, number)),
    'memory of the node that was not killed',
    line('lowest heap, early', mib(memory.early)),
    line('lowest heap, late', mib(memory.late)),
    line('flat', memory.isJudged ? String(memory.isFlat) : 'not judged in a run this short'),
    `violations: ${violations.length}`,
    ...violations.map(({ at, invariant, detail }) => line(`${at} ${invariant}`, detail)),
  ].join('\n')
}
