import { badRequest, type Refusal } from '../../../base/errors.ts'
import { findMember, isJsonObject } from '../../../base/json.ts'

/** Whether a value matches. `undefined` is a missing value. */
type Test = (value: unknown) => boolean

/** Reads a Mango selector, CouchDB's query language. Regular expressions are not supported: they can run for ever. */
export function readSelector(selector: unknown): Test {
  if (!isJsonObject(selector)) throw invalidSelector('a selector must be an object')
  return allOf(Object.entries(selector).map(([name, condition]) => readEntry(name, condition)))
}

const invalidSelector = (why: string): Refusal => badRequest(`Invalid selector: ${why}`)

const allOf =
  (tests: readonly Test[]): Test =>
  (value) =>
    tests.every((test) => test(value))

const anyOf =
  (tests: readonly Test[]): Test =>
  (value) =>
    tests.some((test) => test(value))

const not =
  (test: Test): Test =>
  (value) =>
    !test(value)

function readEntry(name: string, condition: unknown): Test {
  if (name.startsWith('$')) return readOperator(name, condition)
  const path = readPath(name)
  const test = readCondition(condition)
  return (value) => test(findAt(value, path))
}

/** `a.b` is the member `b` of the member `a`; `\.` is a dot in a name. */
const readPath = (name: string): readonly string[] => name.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'))

function findAt(value: unknown, path: readonly string[]): unknown {
  let at = value
  for (const name of path) {
    if (isJsonObject(at)) at = findMember(at, name)
    else return undefined
  }
  return at
}

/** An object of operators or of further members; any other value means "equal to this". */
const readCondition = (condition: unknown): Test =>
  isJsonObject(condition) && Object.keys(condition).length > 0
    ? readSelector(condition)
    : readOperator('$eq', condition)

type Operator = (argument: unknown) => Test

const present =
  (test: Test): Test =>
  (value) =>
    value !== undefined && test(value)

const compareTo =
  (accepts: (order: number) => boolean): Operator =>
  (argument) =>
    present((value) => accepts(compareJson(value, argument)))

const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['$and', (list) => allOf(readList(list).map(readSelector))],
  ['$or', (list) => anyOf(readList(list).map(readSelector))],
  ['$nor', (list) => not(anyOf(readList(list).map(readSelector)))],
  ['$not', (condition) => not(readCondition(condition))],
  ['$eq', compareTo((order) => order === 0)],
  ['$ne', compareTo((order) => order !== 0)],
  ['$lt', compareTo((order) => order < 0)],
  ['$lte', compareTo((order) => order <= 0)],
  ['$gt', compareTo((order) => order > 0)],
  ['$gte', compareTo((order) => order >= 0)],
  ['$exists', (isWanted) => (value) => (value !== undefined) === (isWanted !== false)],
  ['$type', (type) => present((value) => typeOf(value) === type)],
  ['$in', (list) => present(isOneOf(readList(list)))],
  ['$nin', (list) => present(not(isOneOf(readList(list))))],
  ['$all', (list) => holdsAll(readList(list))],
  ['$size', (size) => (value) => Array.isArray(value) && value.length === size],
  ['$elemMatch', (condition) => onItems(readCondition(condition), (items, test) => items.some(test))],
  [
    '$allMatch',
    (condition) => onItems(readCondition(condition), (items, test) => items.length > 0 && items.every(test)),
  ],
  ['$beginsWith', (start) => (value) => typeof value === 'string' && value.startsWith(readText(start))],
  ['$mod', readModulo],
])

function readOperator(name: string, argument: unknown): Test {
  const operator = OPERATORS.get(name)
  if (!operator) throw invalidSelector(`unknown operator ${name}`)
  return operator(argument)
}

function readList(list: unknown): readonly unknown[] {
  if (Array.isArray(list)) return list
  throw invalidSelector('this operator expects a list')
}

function readText(text: unknown): string {
  if (typeof text === 'string') return text
  throw invalidSelector('this operator expects a string')
}

const isOneOf =
  (list: readonly unknown[]): Test =>
  (value) =>
    list.some((item) => compareJson(item, value) === 0)

const holdsAll =
  (list: readonly unknown[]): Test =>
  (value) =>
    Array.isArray(value) && list.every((item) => isOneOf(value)(item))

const onItems =
  (test: Test, decide: (items: readonly unknown[], test: Test) => boolean): Test =>
  (value) =>
    Array.isArray(value) && decide(value, test)

function readModulo(argument: unknown): Test {
  const [divisor, rest] = readList(argument)
  if (!Number.isInteger(divisor) || divisor === 0) throw invalidSelector('$mod expects a divisor and a remainder')
  return (value) => Number.isInteger(value) && Number(value) % Number(divisor) === rest
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** CouchDB's order of types. */
const TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object']

function compareJson(a: unknown, b: unknown): number {
  const [typeOfA, typeOfB] = [typeOf(a), typeOf(b)]
  if (typeOfA !== typeOfB) return TYPES.indexOf(typeOfA) - TYPES.indexOf(typeOfB)
  if (typeof a === 'object') return compareTexts(renderSorted(a), renderSorted(b))
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return compareTexts(String(a), String(b))
}

const compareTexts = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

/** Lists and objects are compared as text with sorted keys: enough for equality, not CouchDB's full order. */
const renderSorted = (value: unknown): string =>
  JSON.stringify(value, (_name, inner: unknown) =>
    isJsonObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([left], [right]) => compareTexts(left, right)))
      : inner,
  )
