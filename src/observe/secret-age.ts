import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Seconds since the newest file was changed, of a file or a folder of files; `undefined`: it cannot be read. */
export function findSecretAge(path: string, nowMs: number): number | undefined {
  try {
    const newestMs = Math.max(...listFiles(path).map((file) => statSync(file).mtimeMs))
    return Number.isFinite(newestMs) ? Math.max(nowMs - newestMs, 0) / 1000 : undefined
  } catch {
    return undefined
  }
}

function listFiles(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .filter((name) => !name.startsWith('.'))
    .map((name) => join(path, name))
}
