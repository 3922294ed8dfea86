/**
 * Loaded before a program: moves its system clock by the milliseconds in the file that SHIFTED_CLOCK names, which a
 * test can change. The monotonic clock stays as it is.
 */
import { readFileSync } from 'node:fs'

const file = process.env['SHIFTED_CLOCK'] ?? ''
const LOOK_EVERY_MS = 20

let shiftMs = 0
let lookedAtMs = Number.NEGATIVE_INFINITY

function findShift(): number {
  const nowMs = performance.now()
  if (nowMs - lookedAtMs < LOOK_EVERY_MS) return shiftMs
  lookedAtMs = nowMs
  try {
    shiftMs = Number(readFileSync(file, 'utf8'))
  } catch {
    // it is being written
  }
  return shiftMs
}

const SystemDate = Date

globalThis.Date = class extends SystemDate {
  constructor(...given: readonly unknown[]) {
    super(...((given.length === 0 ? [SystemDate.now() + findShift()] : given) as [number]))
  }
  static override now(): number {
    return SystemDate.now() + findShift()
  }
} as DateConstructor
