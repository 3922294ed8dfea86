import { readUtf8 } from '../base/encoding.ts'
import { checkPasswordText } from './password-digest.ts'
import { createPasswordExpression, type PasswordExpression } from './password-expression.ts'
import { type RuleTerm, readRuleTerms, TermProblem } from './password-terms.ts'

/** A new password must match all of them. */
export type PasswordRules = readonly PasswordRule[]

export interface PasswordRule {
  readonly expression: PasswordExpression
  /** Appended to the error message; may be empty. */
  readonly reason: string
}

/**
 * Together these bound the work for one password: so many bytes, each with so many steps. The engine never needs
 * more, for any expression and password.
 */
export const PASSWORD_RULE_LIMITS = Object.freeze({ textBytes: 8192, rules: 32, steps: 2500, passwordBytes: 1024 })

/** Reads `[chttpd_auth] password_regexp`. Never throws; `character` counts from 1. */
export function readPasswordRules(text: string) {
  const bytes = toBytes(text)
  try {
    return { kind: 'rules' as const, rules: readRules(bytes) }
  } catch (error) {
    if (!(error instanceof TermProblem)) throw error
    const character = Array.from(toText(bytes.slice(0, error.at))).length + 1
    return { kind: 'problem' as const, character, message: `at character ${character}: ${error.message}` }
  }
}

function readRules(bytes: string): PasswordRules {
  const { textBytes, rules: most, steps } = PASSWORD_RULE_LIMITS
  if (bytes.length > textBytes) throw new TermProblem(textBytes, `longer than ${textBytes} bytes`)
  const terms = readRuleTerms(bytes)
  const surplus = terms[most]
  if (surplus) throw new TermProblem(surplus.at, `more than ${most} elements`)
  let size = 0
  return terms.map((term) => {
    const rule = readRule(term)
    size += rule.expression.size
    if (size > steps) throw new TermProblem(term.at, 'the expressions are too large together')
    return rule
  })
}

function readRule({ expression, reason, at }: RuleTerm): PasswordRule {
  try {
    return { expression: createPasswordExpression(expression), reason: toText(reason) }
  } catch (error) {
    if (error instanceof RangeError) throw new TermProblem(at, toText(error.message))
    throw error
  }
}

/** A rule for the number of characters: Unicode code points, not bytes. */
export const createLengthRule = (min: number): PasswordRule => ({
  // bytes of UTF-8 that begin a character are all but 10xxxxxx
  expression: { size: 0, isMatch: (bytes) => bytes.replace(/[\x80-\xbf]/g, '').length >= min },
  reason: `Use at least ${min} characters.`,
})

const REFUSAL = 'Password does not conform to requirements.'

/** The error message for a new password that breaks a rule; `undefined` if it breaks none. */
export function checkPassword(rules: PasswordRules, password: string): string | undefined {
  const reason = findProblems(rules, password).next().value
  if (reason === undefined) return undefined
  return reason === '' ? REFUSAL : `${REFUSAL} ${reason}`
}

/** A sentence for each rule that the password breaks. */
export const listPasswordProblems = (rules: PasswordRules, password: string): readonly string[] =>
  Array.from(findProblems(rules, password), (reason) => reason || REFUSAL)

/** What the rules say to users. Not every rule has a text. */
export const listRuleTexts = (rules: PasswordRules): readonly string[] =>
  rules.map(({ reason }) => reason).filter((reason) => reason !== '')

/** The reason of each broken rule; may be empty. Expressions are not tried on a password that is not valid text. */
function* findProblems(rules: PasswordRules, password: string): Generator<string, undefined> {
  const flaw = checkPasswordText(password)
  if (flaw !== undefined) return void (yield flaw)
  if (rules.length === 0) return
  const { passwordBytes } = PASSWORD_RULE_LIMITS
  if (Buffer.byteLength(password) > passwordBytes) return void (yield `It is longer than ${passwordBytes} bytes.`)
  const bytes = toBytes(password)
  for (const { expression, reason } of rules) if (!expression.isMatch(bytes)) yield reason
}

// quirk: reference document 8.7, expressions see bytes, so both sides become text of one character a byte
const toBytes = (text: string): string => Buffer.from(text).toString('latin1')

const toText = (bytes: string): string => readUtf8(Buffer.from(bytes, 'latin1')) ?? bytes
