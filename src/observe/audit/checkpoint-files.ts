/**
 * The newest checkpoint of each node, in files beside the key. Nodes can share the folder, so each writes a file of its
 * own: the checkpoint of one node must not replace that of another.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, renameSync, rmSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { digestHex } from '../../base/encoding.ts'
import { attempt } from '../../base/errors.ts'
import { createEmptyFile, readBounded } from '../../base/files.ts'
import { readCheckpoint, type SignedCheckpoint } from './checkpoint.ts'

export interface CheckpointFile {
  readonly path: string
  readonly checkpoint: SignedCheckpoint | undefined
  /** Why there is none. */
  readonly problem: string | undefined
}

/** All files beside a key, for the node that reads them. */
export interface LocalCheckpoints {
  readonly node: string
  readonly files: readonly CheckpointFile[]
  /** Says that this node has no file; `undefined`: it has one. */
  readonly missing: string | undefined
}

const ID_DIGITS = 16
const SUFFIX = new RegExp(`^(?:\\.[0-9a-f]{${ID_DIGITS}})?\\.checkpoint$`)
const MAX_BYTES = 10_000

/** A digest is a valid file name for any name of a node, also where file names ignore case. */
export const toCheckpointPath = (keyFile: string, node: string): string =>
  `${keyFile}.${digestHex('sha256', node).slice(0, ID_DIGITS)}.checkpoint`

/** The one file that all nodes of earlier versions write. */
const toSharedPath = (keyFile: string): string => `${keyFile}.checkpoint`

export const loadOwnCheckpoint = (keyFile: string, node: string): CheckpointFile =>
  load(keyFile, toCheckpointPath(keyFile, node))

export function loadCheckpoints(keyFile: string, node: string): LocalCheckpoints {
  const own = toCheckpointPath(keyFile, node)
  const paths = listPaths(keyFile)
  // after an upgrade, before this node has written its own
  const hasOwn = paths.includes(own) || paths.includes(toSharedPath(keyFile))
  return { node, files: paths.map((path) => load(keyFile, path)), missing: hasOwn ? undefined : describeMissing(own) }
}

/** Without the folder there are none. */
function listPaths(keyFile: string): readonly string[] {
  const name = basename(keyFile)
  const names = attempt(() => readdirSync(dirname(keyFile))) ?? []
  const suffixes = names.filter((each) => each.startsWith(name)).map((each) => each.slice(name.length))
  return suffixes.filter((suffix) => SUFFIX.test(suffix)).map((suffix) => `${keyFile}${suffix}`)
}

function load(keyFile: string, path: string): CheckpointFile {
  const bytes = attempt(() => readBounded(path, MAX_BYTES).bytes)
  if (!bytes) return { path, checkpoint: undefined, problem: describeMissing(path) }
  const checkpoint = readCheckpoint(bytes.toString())
  if (!checkpoint) return { path, checkpoint, problem: `${path} is damaged` }
  if ([toCheckpointPath(keyFile, checkpoint.node), toSharedPath(keyFile)].includes(path))
    return { path, checkpoint, problem: undefined }
  return { path, checkpoint: undefined, problem: `${path} holds the checkpoint of another node` }
}

const describeMissing = (path: string): string => `${path} is missing or cannot be read`

/** The shared file becomes the one of the node whose checkpoint it holds, unless that node has a newer one. */
export function adoptSharedCheckpoint(keyFile: string): void {
  const { path, checkpoint } = load(keyFile, toSharedPath(keyFile))
  if (!checkpoint) return
  const known = loadOwnCheckpoint(keyFile, checkpoint.node)
  const isNewer = checkpoint.sequence > (known.checkpoint?.sequence ?? 0)
  // another node may do so at this moment; in a folder that is read-only the file stays, and `verify` reads it there
  attempt(() => (isNewer ? renameSync(path, known.path) : rmSync(path)))
}

/** Removes the files that are older and whose chains the store has deleted. */
export async function forgetCheckpoints(
  keyFile: string,
  beforeMs: number,
  isStored: (chain: string) => Promise<boolean>,
): Promise<void> {
  for (const path of listPaths(keyFile)) {
    const { checkpoint } = load(keyFile, path)
    const isOld = checkpoint && checkpoint.time < beforeMs
    // one that cannot be removed stays: it must not keep the store from being purged
    if (isOld && !(await isStored(checkpoint.node))) attempt(() => rmSync(path))
  }
}

/** Two processes can write the file of one node: the name of the temporary file is random. */
export async function writeCheckpoint(path: string, content: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    createEmptyFile(temporary)
    const file = await open(temporary, 'w', 0o600)
    try {
      await file.chmod(0o600)
      await file.writeFile(`${content}\n`)
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
