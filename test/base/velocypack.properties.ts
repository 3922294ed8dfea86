// Properties of VelocyPack. The test runs them briefly, `npm run test:long -- fuzz` for long.
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { readVelocyPack } from '../../src/base/read-velocypack.ts'
import { writeVelocyPack } from '../../src/base/write-velocypack.ts'

export const LIMITS = { maxDepth: 100, maxItems: 2000 }
const read = (bytes: Buffer) => readVelocyPack(bytes, LIMITS)
const json = fc.jsonValue({ maxDepth: 6 })
const same = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const toReading = (value: unknown) => ({ kind: 'json', value, isExact: true })

const readsWhatItWrites = fc.property(json, (value) =>
  assert.deepEqual(read(writeVelocyPack(same(value))), toReading(same(value))),
)

const numbers = fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true }))
const writesNumbers = fc.property(numbers, (value) =>
  assert.deepEqual(read(writeVelocyPack(value)), toReading(value + 0)),
)

const readsEveryForm = fc.property(json, fc.infiniteStream(fc.nat(11)), (value, stream) => {
  const next = (): number => stream.next().value
  assert.deepEqual(read(writeInForms(same(value), next)), toReading(same(value)))
})

const broken = fc.tuple(json, fc.nat(), fc.nat(255)).map(([value, at, byte]) => {
  const bytes = writeVelocyPack(same(value))
  bytes[at % bytes.length] = byte
  return bytes
})
const anything = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))
const readsOrRefuses = fc.property(fc.oneof(broken, anything), (bytes) => {
  const reading = read(bytes)
  if (reading.kind === 'refused' || !reading.isExact) return
  assert.deepEqual(same(read(writeVelocyPack(reading.value))), same(reading))
})

/** Returns why it failed. */
const lasting =
  <T>(property: fc.IProperty<T>) =>
  (numRuns: number): string | undefined => {
    const result = fc.check(property, { numRuns, includeErrorInReport: true })
    return result.failed ? fc.defaultReportMessage(result) : undefined
  }

export const PROPERTIES = {
  'VelocyPack is read as it was written': lasting(readsWhatItWrites),
  'numbers of VelocyPack are read as they were written': lasting(writesNumbers),
  'every form of arrays and objects of VelocyPack is read': lasting(readsEveryForm),
  'VelocyPack is a value or refused, whatever the bytes are': lasting(readsOrRefuses),
}

export const unsigned = (value: number, width: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes.subarray(0, width)
}

/** Writes arrays and objects in a form that `next` chooses: width, with padding or without, sorted or not, compact. */
function writeInForms(value: unknown, next: () => number): Buffer {
  const isArray = Array.isArray(value)
  if (typeof value !== 'object' || value === null) return writeVelocyPack(value)
  const items = isArray
    ? value.map((item) => writeInForms(item, next))
    : Object.entries(value).map(([name, item]) => Buffer.concat([writeVelocyPack(name), writeInForms(item, next)]))
  const choice = next()
  if (items.length === 0 || choice >= 8) return writeVelocyPack(value)
  const [least, isPadded] = [choice % 4, choice >= 4]
  const hasTable = !isArray || new Set(items.map(({ length }) => length)).size > 1 || next() % 2 === 0
  const first = isArray ? (hasTable ? 0x06 : 0x02) : next() % 2 === 0 ? 0x0b : 0x0f
  for (let power = least; ; power += 1) {
    const bytes = writeForm(items, { head: first + power, width: 2 ** power, hasTable, isPadded, isArray })
    if (power === 3 || bytes.length < 256 ** (2 ** power)) return bytes
  }
}

interface Layout {
  readonly head: number
  readonly width: number
  readonly hasTable: boolean
  readonly isPadded: boolean
  readonly isArray: boolean
}

function writeForm(items: readonly Buffer[], { head, width, hasTable, isPadded, isArray }: Layout): Buffer {
  const countWidth = hasTable ? width : 0
  const headLength = isPadded || width === 8 ? 9 : 1 + width + countWidth
  let at = headLength
  const offsets = items.map((item) => {
    at += item.length
    return unsigned(at - item.length, width)
  })
  if (!isArray) offsets.reverse()
  const count = unsigned(items.length, countWidth)
  const table = hasTable ? Buffer.concat(width === 8 ? [...offsets, count] : offsets) : Buffer.alloc(0)
  const front = Buffer.alloc(headLength)
  front[0] = head
  unsigned(at + table.length, width).copy(front, 1)
  if (width < 8) count.copy(front, 1 + width)
  return Buffer.concat([front, ...items, table])
}
