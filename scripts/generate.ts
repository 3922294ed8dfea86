// Writes the files that are derived from the tables of options, security events, metrics, errors and operations of the
// admin API, and from the declarations of library and client. With --check it writes nothing, lists the stale files, and exits with 1 if there are any.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { renderAdminApiPage } from './admin-api-page.ts'
import { renderClientPage, renderLibraryPage } from './api-pages.ts'
import { renderErrorsPage } from './errors-page.ts'
import { renderEventsPage } from './events-page.ts'
import { renderMetricsPage } from './metrics-page.ts'
import { renderDefaultIni, renderOptionsPage } from './options-page.ts'

const root = dirname(import.meta.dirname)
export const GENERATED = {
  'etc/default.ini': renderDefaultIni,
  'docs/reference/options.md': renderOptionsPage,
  'docs/reference/security-events.md': renderEventsPage,
  'docs/reference/metrics.md': renderMetricsPage,
  'docs/reference/errors.md': renderErrorsPage,
  'docs/reference/admin-api.md': renderAdminApiPage,
  'docs/reference/library.md': renderLibraryPage,
  'docs/reference/client.md': renderClientPage,
}

const current = (path) => {
  try {
    return readFileSync(join(root, path), 'utf8')
  } catch {
    return ''
  }
}

const firstDifference = (before, after) => {
  const [old, now] = [before.split('\n'), after.split('\n')]
  const line = now.findIndex((text, index) => text !== old[index])
  const at = line < 0 ? now.length : line
  return `${at + 1}\n  is        ${old[at] ?? '(nothing)'}\n  should be ${now[at] ?? '(nothing)'}`
}

/** The generated files that differ from their table, each with a hint. */
export const findStale = () =>
  Object.entries(GENERATED).flatMap(([path, render]) => {
    const [before, after] = [current(path), render()]
    return before === after ? [] : [`${path}:${firstDifference(before, after)}`]
  })

const write = () => {
  for (const [path, render] of Object.entries(GENERATED)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), render())
    console.log(path)
  }
}

const check = () => {
  const stale = findStale()
  for (const hint of stale) console.error(`stale: ${hint}`)
  if (stale.length > 0) console.error('Run: node scripts/generate.ts')
  process.exitCode = stale.length > 0 ? 1 : 0
}

if (import.meta.main) process.argv.includes('--check') ? check() : write()
