const MAX_SHORT = 126
const [SHORT_TEXT, LONG_TEXT] = [0x40, 0xbf]
const ARRAY = { empty: 0x01, compact: 0x13 }
const OBJECT = { empty: 0x0a, compact: 0x14 }

/** Writes a value that was read from JSON. Arrays and objects have the compact form, which every reader knows. */
export function writeVelocyPack(value: unknown): Buffer {
  if (value === null) return Buffer.of(0x18)
  if (typeof value === 'boolean') return Buffer.of(value ? 0x1a : 0x19)
  if (typeof value === 'number') return writeNumber(value)
  if (typeof value === 'string') return writeText(value)
  if (Array.isArray(value)) return writeContainer(ARRAY, value.map(writeVelocyPack), value.length)
  if (typeof value !== 'object') throw new TypeError(`${typeof value} has no form in VelocyPack`)
  const entries = Object.entries(value)
  const parts = entries.flatMap(([name, member]) => [writeText(name), writeVelocyPack(member)])
  return writeContainer(OBJECT, parts, entries.length)
}

function writeContainer({ empty, compact }: typeof ARRAY, parts: readonly Buffer[], count: number): Buffer {
  if (count === 0) return Buffer.of(empty)
  const items = Buffer.concat(parts)
  const end = toVariable(count).reverse()
  const others = 1 + items.length + end.length
  let width = 1
  while (others + width >= 128 ** width) width += 1
  return Buffer.concat([Buffer.of(compact, ...toVariable(others + width)), items, Buffer.from(end)])
}

function toVariable(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}

function writeText(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length <= MAX_SHORT) return Buffer.concat([Buffer.of(SHORT_TEXT + bytes.length), bytes])
  const head = Buffer.alloc(9)
  head[0] = LONG_TEXT
  head.writeUIntLE(bytes.length, 1, 6)
  return Buffer.concat([head, bytes])
}

/** Whole numbers of up to six bytes have as many as they need, longer ones and fractions are doubles. */
function writeNumber(value: number): Buffer {
  if (Number.isInteger(value) && value >= -6 && value <= 9) return Buffer.of(value < 0 ? 0x40 + value : 0x30 + value)
  const isShort = Number.isInteger(value) && value >= -(2 ** 47) && value < 2 ** 48
  if (!isShort) return writeDouble(value)
  let width = 1
  const limit = () => 2 ** (8 * width)
  while (value < 0 ? value < -limit() / 2 : value >= limit()) width += 1
  const bytes = Buffer.of((value < 0 ? 0x1f : 0x27) + width, ...new Uint8Array(width))
  if (value < 0) bytes.writeIntLE(value, 1, width)
  else bytes.writeUIntLE(value, 1, width)
  return bytes
}

function writeDouble(value: number): Buffer {
  const bytes = Buffer.alloc(9, 0x1b)
  bytes.writeDoubleLE(value, 1)
  return bytes
}
