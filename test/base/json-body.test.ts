import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { readJsonBody } from '../../src/base/json-body.ts'

const LIMITS = { maxDepth: 100, maxItems: 250_000 }
const read = (text: string) => readJsonBody(Buffer.from(text), LIMITS)
const PAD = ' '.repeat(70_000)
const LONG = `"${'x'.repeat(70_000)}"`
const LARGE = `[${LONG}]`

describe('checks the limits of a body before it is parsed', () => {
  const rows: readonly (readonly [name: string, text: string, reason: string])[] = [
    ['too deep', '['.repeat(101) + ']'.repeat(101), 'too_deep'],
    ['too deep and never closed', '{"a":'.repeat(1_000_000), 'too_deep'],
    ['too many elements', `[${'1,'.repeat(300_000)}1]`, 'too_many_items'],
    ['too many members', `{${Array.from({ length: 260_000 }, (_, i) => `"${i}":0`).join()}}`, 'too_many_items'],
    ['too many empty objects', `[${'{},'.repeat(150_000)}{}]`, 'too_many_items'],
    ['brackets that do not match', `[${PAD}}`, 'not_json'],
    ['a bracket too many', '[]]', 'not_json'],
    ['a string without end', '["', 'not_json'],
    ['nothing', '', 'not_json'],
  ]
  for (const [name, text, reason] of rows)
    it(name, async () => assert.deepEqual(await read(text), { kind: 'refused', reason }))
  it('accepts 100 levels', async () => {
    assert.equal((await read('['.repeat(100) + ']'.repeat(100))).kind, 'json')
  })
  it('ignores brackets in strings', async () => {
    assert.equal((await read(JSON.stringify({ a: '[{'.repeat(1000), 'b"[': '\\"[' }))).kind, 'json')
  })
  it('refuses bytes that are not UTF-8', async () => {
    assert.deepEqual(await readJsonBody(Buffer.from([0x22, 0xff, 0x22]), LIMITS), {
      kind: 'refused',
      reason: 'not_utf8',
    })
  })
})

describe('reads a large body with the same result as JSON.parse', () => {
  const rows = [
    `[${PAD}]`,
    `{${PAD}}`,
    `${PAD}[1]${PAD}`,
    `[${LONG},1,${LARGE},2,[3]]`,
    `[${LARGE}]`,
    `[${LARGE} , ${LARGE}]`,
    `{"a":${LARGE},"b" : {"c":${LARGE}} ,"d":1}`,
    `{"__proto__":${LARGE},"constructor":{"x":${LONG}}}`,
    `[${Array.from({ length: 20_000 }, (_, i) => `{"id":"u${i}","roles":["a,]","b"]}`).join(' , ')}]`,
    `{${Array.from({ length: 20_000 }, (_, i) => `"k\\"${i}":[${i}]`).join()}}`,
    LONG,
  ]
  for (const [index, text] of rows.entries())
    it(`row ${index}`, async () => {
      assert.deepEqual(await read(text), { kind: 'json', value: JSON.parse(text), isExact: true })
    })
  const broken = [
    `[${LARGE} ${LARGE}]`,
    `[${LARGE},]`,
    `[,${LARGE}]`,
    `[1 ${LARGE}]`,
    `[${LARGE} 1]`,
    `[${LARGE},,1]`,
    `[${LONG},,${LONG}]`,
    `{"a" ${LARGE}}`,
    `{"a":1${LARGE}}`,
    `{"a":-${LARGE}}`,
    `{${LARGE}}`,
    `{"a":1,${LARGE}}`,
    `${LARGE}1`,
    `[${LONG},x]`,
    `[${LONG}:1]`,
  ]
  for (const [index, text] of broken.entries())
    it(`broken row ${index} is not JSON`, async () => {
      assert.throws(() => JSON.parse(text))
      assert.deepEqual(await read(text), { kind: 'refused', reason: 'not_json' })
    })
  for (const text of [`{"a":${LARGE},"a":1}`, `{"a":${LARGE},"a":${LARGE}}`, `{"a":1,"b":${LONG},"a":${LONG}}`])
    it('refuses two members of the same name', async () => {
      assert.deepEqual(await read(text), { kind: 'refused', reason: 'duplicate_name' })
    })
  it('notices a number that cannot be kept', async () => {
    const reading = await read(`[${LARGE},9007199254740993,${LONG}]`)
    assert.ok(reading.kind === 'json' && !reading.isExact)
  })
  it('for random values', async () => {
    const value = fc.jsonValue({ maxDepth: 4 })
    await fc.assert(
      fc.asyncProperty(value, value, fc.constantFrom('', ' ', '\n'), async (a, b, blank) => {
        const inner = [JSON.stringify(a), LARGE, JSON.stringify(b)].join(`${blank},${blank}`)
        const text = `[${inner},{"x":${JSON.stringify(a)},"large"${blank}:${blank}[${inner}],"y":${JSON.stringify(b)}}]`
        const reading = await read(text)
        if (reading.kind === 'json') assert.deepEqual(reading.value, JSON.parse(text))
        else assert.equal(reading.reason, 'duplicate_name')
      }),
      { numRuns: 100 },
    )
  })
})

it('lets other work run while a body of 8 MB is measured', async () => {
  const text = `["${'x'.repeat(8_000_000)}"]`
  let turns = 0
  let isOver = false
  const reading = read(text).finally(() => {
    isOver = true
  })
  while (!isOver) {
    turns += 1
    await nextTurn()
  }
  assert.equal((await reading).kind, 'json')
  assert.ok(turns > 2, `${turns} turns`)
})
