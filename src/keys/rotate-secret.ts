/**
 * Replaces the signing secret in three steps that reject no valid token: add the new secret; make it the first; remove
 * the old one when no token signed with it can be valid. Every server loads the folder after each step. One call is one
 * step. The progress is recorded in the folder, in a file that servers ignore.
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile, syncFolder } from '../base/files.ts'
import { findMember, isJsonObject, readJson } from '../base/json.ts'
import { createSecretText, type ListedSecret, listFolder, SecretProblem } from './new-secret.ts'

export type RotationStep =
  | { readonly kind: 'added' | 'activated' | 'removed'; readonly file: string }
  | { readonly kind: 'waiting'; readonly file: string; readonly until: number }

interface RotationOptions {
  readonly nowSeconds: number
  /** How long a token can live. */
  readonly lifetimeSeconds: number
  /** Removes the old secret even if tokens signed with it may be valid. */
  readonly isForced: boolean
}

/** The content of the progress file. */
interface Progress {
  /** The secret to be removed. */
  readonly old: string
  /** File name of the new secret while it only verifies. */
  readonly next: string
  /** File name of the new secret when it signs. */
  readonly first: string
  /** When the new secret began to sign, in seconds since the epoch. */
  readonly activatedAt?: number
}

const PROGRESS_FILE = '.rotation.json'

export async function stepRotation(folder: string, options: RotationOptions): Promise<RotationStep> {
  const listed = await listFolder(folder)
  const [active] = listed
  if (!active)
    throw new SecretProblem(
      `${folder} contains no secret. Create one with "cardea secret create ${join(folder, 'NAME')}".`,
    )
  const progress = readProgress(folder) ?? {
    old: active.name,
    next: `${active.name}.next`,
    first: chooseFirst(listed, options.nowSeconds),
  }
  const has = (name: string) => existsSync(join(folder, name))
  if (has(progress.next)) return activate(folder, progress, listed, options)
  if (!has(progress.first)) return add(folder, progress, active)
  const { activatedAt } = progress
  if (activatedAt === undefined) return finishActivation(folder, progress, options)
  return remove(folder, progress.old, activatedAt, options)
}

/** A file name that sorts before all others, because the first file signs. Names of later rotations sort first. */
function chooseFirst(listed: readonly ListedSecret[], nowSeconds: number): string {
  const stamp = 9_999_999_999 - nowSeconds
  // for a second rotation within a second, or after the clock was set back a little
  const stamps = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((less) => String(stamp - less).padStart(10, '0'))
  const names = ['0', '+', '!'].flatMap((sign) => stamps.map((digits) => `${sign}${digits}.key`))
  const first = names.find((name) => isBefore(name, listed))
  if (first) return first
  throw new SecretProblem(
    `No new file name sorts before ${listed[0]?.name}. Rename that file, and run this step again.`,
  )
}

const isBefore = (name: string, listed: readonly ListedSecret[]): boolean =>
  listed.every((other) => Buffer.compare(Buffer.from(name), Buffer.from(other.name)) < 0)

function add(folder: string, progress: Progress, { kind }: ListedSecret): RotationStep {
  writeProgress(folder, progress)
  replaceFile(join(folder, progress.next), createSecretText(kind ?? 'HS256'))
  return { kind: 'added', file: progress.next }
}

function activate(folder: string, progress: Progress, listed: readonly ListedSecret[], options: RotationOptions) {
  const first = isBefore(progress.first, listed) ? progress.first : chooseFirst(listed, options.nowSeconds)
  writeProgress(folder, { ...progress, first })
  renameSync(join(folder, progress.next), join(folder, first))
  syncFolder(folder)
  return finishActivation(folder, { ...progress, first }, options)
}

function finishActivation(folder: string, progress: Progress, { nowSeconds }: RotationOptions): RotationStep {
  writeProgress(folder, { ...progress, activatedAt: nowSeconds })
  return { kind: 'activated', file: progress.first }
}

function remove(folder: string, old: string, activatedAt: number, options: RotationOptions): RotationStep {
  const until = Math.ceil(activatedAt + options.lifetimeSeconds)
  if (options.nowSeconds < until && !options.isForced) return { kind: 'waiting', file: old, until }
  rmSync(join(folder, old), { force: true })
  rmSync(join(folder, PROGRESS_FILE), { force: true })
  syncFolder(folder)
  return { kind: 'removed', file: old }
}

const writeProgress = (folder: string, progress: Progress): void =>
  replaceFile(join(folder, PROGRESS_FILE), JSON.stringify(progress))

function readProgress(folder: string): Progress | undefined {
  const path = join(folder, PROGRESS_FILE)
  if (!existsSync(path)) return undefined
  const reading = readJson(readFileSync(path, 'utf8'))
  const progress = reading.kind === 'json' && isJsonObject(reading.value) ? reading.value : {}
  const [old, next, first] = ['old', 'next', 'first'].map((name) => findMember(progress, name))
  const activatedAt = findMember(progress, 'activatedAt')
  if (!isFileName(old) || !isFileName(next) || !isFileName(first)) {
    throw new SecretProblem(
      `${path} is not valid. Remove it, check which secrets are in the folder, and start the rotation again.`,
    )
  }
  return { old, next, first, ...(typeof activatedAt === 'number' ? { activatedAt } : {}) }
}

const isFileName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && !name.startsWith('.') && !/[/\\\0]/.test(name)
