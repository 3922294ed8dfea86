import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'

/** Longer than anything takes on a busy machine. */
const LIMIT_MS = 120_000

/** Waits for what happens soon, but not at a known time. */
export async function waitUntil(isDone: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = Date.now() + LIMIT_MS; !(await isDone()); await pause(20))
    assert.ok(Date.now() < deadline, `it did not happen within ${LIMIT_MS / 1000} seconds: ${isDone}`)
}

/** For a step of the setup, which has no limit of a test: far longer than any step takes. */
export const STEP_LIMIT_MS = 300_000

/** Rejects with the name of the step that hangs. */
export async function limitStep<T>(step: string, work: Promise<T>, limitMs = STEP_LIMIT_MS): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${step} did not end within ${limitMs / 1000} seconds`)), limitMs)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
