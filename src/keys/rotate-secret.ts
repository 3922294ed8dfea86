/**
 * Replaces the signing secret in three steps that reject no valid token: add the new secret; make it the first; remove
 * the old one when no token signed with it can be valid. Every server loads the folder after each step. One call is one
 * step. The progress is recorded in the folder, in a file that servers ignore.
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile, syncFolder } from '../base/files.ts'
import { findMember, isJsonObject, readJson } from '../base/json.ts'
import { type ListedSecret, listFolder } from './list-folder.ts'
import { createSecretText, SecretProblem } from './new-secret.ts'

export type RotationStep =
  | { readonly kind: 'added' | 'activated' | 'removed'; readonly file: string }
  | { readonly kind: 'waiting'; readonly file: string; readonly until: number }

export type StepName = 'add' | 'activate' | 'retire'

export interface Rotation {
  readonly next: StepName
  /** Of `retire`, in seconds since the epoch. */
  readonly until?: number
}

export interface RotationOptions {
  readonly nowSeconds: number
  /** How long a token can live. */
  readonly lifetimeSeconds: number
  /** Removes the old secret even if tokens signed with it may be valid. */
  readonly isForced: boolean
}

interface Note {
  /** The secret to be removed. */
  readonly old: string
  /** File names of the new secret: while it only verifies, and when it signs. */
  readonly next: string
  readonly first: string
  /** When it began to sign. */
  readonly activatedAt?: number
}

const NOTE = '.rotation.json'

export async function stepRotation(folder: string, options: RotationOptions): Promise<RotationStep> {
  const listed = await listFolder(folder)
  const [active] = listed
  if (!active) throw new SecretProblem(`${folder} holds no secret.`)
  const note = readNote(folder) ?? begin(listed, active, options.nowSeconds)
  const next = findStep(folder, note)
  if (next === 'add') return add(folder, note, active)
  if (next === 'retire') return remove(folder, note, options)
  const isRenamed = !existsSync(join(folder, note.next))
  return isRenamed ? finishActivation(folder, note, options) : activate(folder, note, listed, options)
}

function findStep(folder: string, note: Note): StepName {
  const has = (name: string) => existsSync(join(folder, name))
  if (has(note.next)) return 'activate'
  if (!has(note.first)) return 'add'
  return note.activatedAt === undefined ? 'activate' : 'retire'
}

/** Where a rotation is: its next step, and from when on that one rejects no valid token. */
export function findRotation(folder: string, lifetimeSeconds: number): Rotation {
  const note = readNote(folder)
  const next = note ? findStep(folder, note) : 'add'
  return next === 'retire' && note ? { next, until: endOf(note, lifetimeSeconds) } : { next }
}

function begin(listed: readonly ListedSecret[], active: ListedSecret, nowSeconds: number): Note {
  return { old: active.name, next: `${active.name}.next`, first: chooseFirst(listed, nowSeconds) }
}

/** Later ones sort before earlier ones, and all before letters and other figures. */
function chooseFirst(listed: readonly ListedSecret[], nowSeconds: number): string {
  const stamp = 9_999_999_999 - nowSeconds
  // for a second rotation within a second, or after the clock was set back a little
  const stamps = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((less) => String(stamp - less).padStart(10, '0'))
  const names = ['0', '+', '!'].flatMap((sign) => stamps.map((figures) => `${sign}${figures}.key`))
  const first = names.find((name) => isBefore(name, listed))
  if (first) return first
  throw new SecretProblem(`No name sorts before ${listed[0]?.name}: rename that file first.`)
}

const isBefore = (name: string, listed: readonly ListedSecret[]): boolean =>
  listed.every((other) => Buffer.compare(Buffer.from(name), Buffer.from(other.name)) < 0)

function add(folder: string, note: Note, { kind }: ListedSecret): RotationStep {
  writeNote(folder, note)
  replaceFile(join(folder, note.next), createSecretText(kind ?? 'HS256'))
  return { kind: 'added', file: note.next }
}

function activate(folder: string, note: Note, listed: readonly ListedSecret[], options: RotationOptions): RotationStep {
  const first = isBefore(note.first, listed) ? note.first : chooseFirst(listed, options.nowSeconds)
  writeNote(folder, { ...note, first })
  renameSync(join(folder, note.next), join(folder, first))
  syncFolder(folder)
  return finishActivation(folder, { ...note, first }, options)
}

function finishActivation(folder: string, note: Note, { nowSeconds }: RotationOptions): RotationStep {
  writeNote(folder, { ...note, activatedAt: nowSeconds })
  return { kind: 'activated', file: note.first }
}

/** When the last token expires that the old secret has signed. */
const endOf = ({ activatedAt = 0 }: Note, lifetimeSeconds: number): number => Math.ceil(activatedAt + lifetimeSeconds)

function remove(folder: string, note: Note, options: RotationOptions): RotationStep {
  const { old } = note
  const until = endOf(note, options.lifetimeSeconds)
  if (options.nowSeconds < until && !options.isForced) return { kind: 'waiting', file: old, until }
  rmSync(join(folder, old), { force: true })
  rmSync(join(folder, NOTE), { force: true })
  syncFolder(folder)
  return { kind: 'removed', file: old }
}

const writeNote = (folder: string, note: Note): void => replaceFile(join(folder, NOTE), JSON.stringify(note))

function readNote(folder: string): Note | undefined {
  const path = join(folder, NOTE)
  if (!existsSync(path)) return undefined
  const reading = readJson(readFileSync(path, 'utf8'))
  const note = reading.kind === 'json' && isJsonObject(reading.value) ? reading.value : {}
  const [old, next, first] = ['old', 'next', 'first'].map((name) => findMember(note, name))
  const activatedAt = findMember(note, 'activatedAt')
  if (!isFileName(old) || !isFileName(next) || !isFileName(first)) {
    throw new SecretProblem(`${path} cannot be read. Remove it, see which files are there, and begin again.`)
  }
  return { old, next, first, ...(typeof activatedAt === 'number' ? { activatedAt } : {}) }
}

const isFileName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && !name.startsWith('.') && !/[/\\\0]/.test(name)
