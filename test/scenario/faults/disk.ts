// A small disk of its own, for faults of disks.
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmdirSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

export interface Disk {
  readonly folder: string
  /** Writes a file until there is no space left. */
  fill(): void
  free(): void
  makeReadOnly(): void
}

const mount = (...args: readonly string[]): boolean => spawnSync('mount', args).status === 0

/** Skips the test where this process may not mount a file system. */
export function mountDisk(t: TestContext, size = '2m'): Disk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-disk-'))
  // lazy: a server that a failed test left open still uses it
  t.after(() => {
    spawnSync('umount', ['--lazy', folder])
    rmdirSync(folder)
  })
  if (!mount('-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder)) {
    t.skip('this process may not mount a file system: run as root')
    return undefined
  }
  const filler = join(folder, 'filler')
  return {
    folder,
    fill: () => fill(filler),
    free: () => rmSync(filler),
    makeReadOnly: () => {
      if (!mount('-o', 'remount,ro', folder)) throw new Error('the disk is still in use')
    },
  }
}

export interface FailingDisk {
  readonly folder: string
  /** As Linux does after an error of the device: the file system becomes read-only, with its files open. */
  fail(): void
}

/** Skips the test where this process may not make a file system in a file and mount it. */
export function mountFailingDisk(t: TestContext): FailingDisk | undefined {
  const outer = mkdtempSync(join(tmpdir(), 'cardea-disk-'))
  const [image, folder] = [join(outer, 'image'), join(outer, 'mounted')]
  mkdirSync(folder)
  t.after(() => {
    spawnSync('umount', ['--lazy', folder])
    rmSync(outer, { recursive: true })
  })
  closeSync(openSync(image, 'w'))
  truncateSync(image, 8 * 1024 * 1024)
  if (spawnSync('mkfs.ext4', ['-q', image]).status !== 0 || !mount('-o', 'loop', image, folder)) {
    t.skip('this process may not mount a file system of its own: run as root, with e2fsprogs and loop devices')
    return undefined
  }
  return {
    folder,
    fail: () => {
      if (!mount('-o', 'remount,abort', folder)) throw new Error('the disk still works')
    },
  }
}

function fill(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (;;) writeSync(file, Buffer.alloc(4096))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(file)
  }
}
