import type { Json, JsonObject } from './operators.ts'

/** An answer as a case expects it. */
export interface Expectation {
  readonly status: number
  readonly headers?: JsonObject
  readonly json?: Json
  readonly text?: Json
  readonly token?: {
    readonly at: string
    readonly header?: Json
    readonly claims?: Json
    readonly lifetime?: number
  }
}

export interface Received {
  readonly status: number
  /** Lines of one name joined with a newline. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What is different, a line each. `$re` matches, `$any` wants something there, `$more` allows members not listed. */
export function differences(expected: Json, actual: unknown, at: string): readonly string[] {
  if (Array.isArray(expected)) return differencesOfLists(expected, actual, at)
  if (isObject(expected)) return differencesOfObjects(expected, actual, at)
  return Object.is(expected, actual) ? [] : [unlike(expected, actual, at)]
}

const unlike = (expected: Json, actual: unknown, at: string): string =>
  `${at}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`

function differencesOfLists(expected: readonly Json[], actual: unknown, at: string): readonly string[] {
  if (!Array.isArray(actual) || actual.length !== expected.length) return [unlike(expected, actual, at)]
  return expected.flatMap((item, index) => differences(item, actual[index], `${at}[${index}]`))
}

function differencesOfObjects(expected: JsonObject, actual: unknown, at: string): readonly string[] {
  const { $re: expression } = expected
  if (expression !== undefined) {
    const isMatch = new RegExp(String(expression), 's').test(String(actual))
    return isMatch ? [] : [`${at}: ${JSON.stringify(actual)} does not match ${String(expression)}`]
  }
  if ('$any' in expected) return actual === undefined ? [`${at}: absent`] : []
  if (!isObject(actual)) return [unlike(expected, actual, at)]
  const { $more: allowsMore, ...members } = expected
  const found = Object.entries(members).flatMap(([name, value]) => differences(value, actual[name], `${at}.${name}`))
  const surplus = allowsMore ? [] : Object.keys(actual).filter((name) => !Object.hasOwn(members, name))
  return [...found, ...surplus.map((name) => `${at}.${name}: not expected, got ${JSON.stringify(actual[name])}`)]
}

export function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

export function compareAnswer(expected: Expectation, answer: Received): readonly string[] {
  const body = parse(answer.body)
  return [
    ...differences(expected.status, answer.status, 'status'),
    ...Object.entries(expected.headers ?? {}).flatMap(([name, value]) =>
      differences(value, answer.headers.get(name) ?? null, `header ${name}`),
    ),
    ...(expected.json === undefined ? [] : differences(expected.json, body, 'json')),
    ...(expected.text === undefined ? [] : differences(expected.text, answer.body, 'text')),
    ...(expected.token === undefined ? [] : compareToken(expected.token, body)),
  ]
}

function compareToken(expected: NonNullable<Expectation['token']>, body: unknown): readonly string[] {
  const { at, header, claims, lifetime } = expected
  const text = isObject(body) ? String(body[at]) : ''
  const [head, payload] = text.split('.').map((part) => parse(Buffer.from(part, 'base64url').toString()))
  const lives = isObject(payload) ? Number(payload['exp']) - Number(payload['iat']) : undefined
  return [
    ...(header === undefined ? [] : differences(header, head, `${at} header`)),
    ...(claims === undefined ? [] : differences(claims, payload, `${at} claims`)),
    ...(lifetime === undefined ? [] : differences(lifetime, lives, `${at} lifetime`)),
  ]
}
