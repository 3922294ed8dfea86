import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'

/** Longer than anything takes on a busy machine. */
const LIMIT_MS = 120_000

/** Waits for what happens soon, but not at a known time. */
export async function waitUntil(isDone: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = Date.now() + LIMIT_MS; !(await isDone()); await pause(20))
    assert.ok(Date.now() < deadline, `it did not happen within ${LIMIT_MS / 1000} seconds: ${isDone}`)
}
