import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSelector } from '../../../../src/dialects/document/users/selector.ts'

const DOC = { name: 'ada', age: 36, roles: ['math', 'poet'], home: { city: 'London', 'a.b': 1 }, off: null, yes: true }

const ROWS: readonly [selector: object, isMatch: boolean][] = [
  [{}, true],
  [{ name: 'ada' }, true],
  [{ name: 'bob' }, false],
  [{ name: 'ada', age: 36 }, true],
  [{ name: 'ada', age: 37 }, false],
  [{ 'home.city': 'London' }, true],
  [{ home: { city: 'London' } }, true],
  [{ 'home.a\\.b': 1 }, true],
  [{ 'home.city.x': 'London' }, false],
  [{ constructor: { $exists: true } }, false],
  [{ age: { $gt: 30, $lt: 40 } }, true],
  [{ age: { $gte: 36, $lte: 36 } }, true],
  [{ age: { $lt: 'a' } }, true],
  [{ age: { $gt: null } }, true],
  [{ age: { $ne: 36 } }, false],
  [{ missing: { $ne: 1 } }, false],
  [{ missing: { $exists: false } }, true],
  [{ off: { $exists: true } }, true],
  [{ off: null }, true],
  [{ roles: { $type: 'array' } }, true],
  [{ yes: { $type: 'boolean' } }, true],
  [{ age: { $in: [1, 36] } }, true],
  [{ age: { $nin: [1, 36] } }, false],
  [{ roles: { $all: ['poet', 'math'] } }, true],
  [{ roles: { $all: ['poet', 'x'] } }, false],
  [{ roles: { $size: 2 } }, true],
  [{ roles: ['math', 'poet'] }, true],
  [{ roles: { $elemMatch: { $eq: 'poet' } } }, true],
  [{ roles: { $allMatch: { $gt: 'n' } } }, false],
  [{ name: { $beginsWith: 'ad' } }, true],
  [{ age: { $mod: [5, 1] } }, true],
  [{ $or: [{ name: 'bob' }, { age: 36 }] }, true],
  [{ $and: [{ name: 'ada' }, { age: 37 }] }, false],
  [{ $nor: [{ name: 'bob' }, { age: 37 }] }, true],
  [{ $not: { name: 'bob' } }, true],
  [{ age: { $not: { $gt: 40 } } }, true],
]

for (const [selector, isMatch] of ROWS) {
  test(`${JSON.stringify(selector)} ${isMatch ? 'is' : 'is not'} a match`, () => {
    assert.equal(readSelector(selector)(DOC), isMatch)
  })
}

const REFUSED: readonly unknown[] = [
  undefined,
  [],
  'x',
  { $regex: 'x' },
  { name: { $regex: '(a+)+$' } },
  { name: { $where: '1' } },
  { $or: {} },
  { age: { $mod: [0, 1] } },
  { age: { $in: 1 } },
  { name: { constructor: { $toString: 1 } } },
]

for (const selector of REFUSED) {
  test(`${JSON.stringify(selector)} is rejected`, () => {
    assert.throws(() => readSelector(selector), { code: 'bad_request' })
  })
}
