import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'

/** Longer than anything takes on a busy machine. */
const LIMIT_MS = 120_000

const [FIRST_PAUSE_MS, MAX_PAUSE_MS] = [20, 200]

/** Waits for what happens soon, but not at a known time. What takes long is asked for less often: asking takes time, too. */
export async function waitUntil(isDone: () => Promise<boolean> | boolean): Promise<void> {
  const startMs = Date.now()
  for (let waitedMs = 0; !(await isDone()); waitedMs = Date.now() - startMs) {
    assert.ok(waitedMs < LIMIT_MS, `it did not happen within ${LIMIT_MS / 1000} seconds: ${isDone}`)
    await pause(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS + waitedMs / 10))
  }
}

/** Waits until a check no longer throws. What it throws last says what did not happen. */
export async function waitUntilPasses(check: () => Promise<void>): Promise<void> {
  let failure: unknown
  const isPassed = () =>
    check().then(
      () => true,
      (error: unknown) => {
        failure = error
        return false
      },
    )
  await waitUntil(isPassed).catch(() => Promise.reject(failure))
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
