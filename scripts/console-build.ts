// Builds the console into dist/console: hashed, compressed files. `--if-stale` builds only if a source is newer than the
// last build, and does nothing where Vite is not installed: the package brings the console built.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { InlineConfig } from 'vite'

const ROOT = resolve(import.meta.dirname, '..')
const SOURCES = join(ROOT, 'console')
const TARGET = join(ROOT, 'dist', 'console')

const listFiles = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const newestOf = (files) => Math.max(...files.map((file) => statSync(file).mtimeMs))

/** Whether a source or the lock of the packages is newer than the last build. */
export function isConsoleStale() {
  const page = join(TARGET, 'index.html')
  if (!existsSync(page)) return true
  return newestOf([...listFiles(SOURCES), join(ROOT, 'package-lock.json')]) > statSync(page).mtimeMs
}

function hasVite() {
  try {
    createRequire(import.meta.url).resolve('vite')
    return true
  } catch {
    return false
  }
}

/** Replaces the folder at once, so that a server that starts meanwhile reads the old one or the new one. */
export async function buildConsole() {
  const { build } = await import('vite')
  mkdirSync(dirname(TARGET), { recursive: true })
  const work = mkdtempSync(`${TARGET}-`)
  try {
    // apart: the sign-in page loads no file of the console
    for (const page of PAGES) await build(toConfig(work, page))
    for (const file of listFiles(join(work, 'assets'))) compress(file)
    chmodSync(work, 0o755)
    rmSync(TARGET, { recursive: true, force: true, maxRetries: 3 })
    renameInto(work)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

const PAGES = ['index.html', 'sign-in.html']

const toConfig = (outDir: string, page: string): InlineConfig => ({
  configFile: false,
  root: SOURCES,
  base: '/_cardea/',
  publicDir: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // a placeholder that the server fills for each page
  html: { cspNonce: '{{nonce}}' },
  build: {
    outDir,
    emptyOutDir: false,
    modulePreload: { polyfill: false },
    target: 'es2022',
    cssTarget: 'chrome111',
    rolldownOptions: {
      input: join(SOURCES, page),
      // each page is one file, and what several of them need is another: not one for each component
      output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 2 }] } },
    },
  },
})

function compress(file) {
  const bytes = readFileSync(file)
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: quality }))
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
}

function renameInto(work) {
  try {
    renameSync(work, TARGET)
  } catch (error) {
    // another process has built the same meanwhile
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
  }
}

if (process.argv[1] === import.meta.filename) {
  const isOptional = process.argv.includes('--if-stale')
  if (!isOptional || (isConsoleStale() && hasVite())) await buildConsole()
}
