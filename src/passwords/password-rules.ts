import { readUtf8 } from '../base/encoding.ts'
import { findKnownFlaw } from './known-passwords.ts'
import { checkPasswordText } from './password-digest.ts'
import { createPasswordExpression } from './password-expression.ts'
import { isInPasswordFile } from './password-file.ts'
import { type RuleTerm, readRuleTerms, TermProblem } from './password-terms.ts'

/** A new password must conform to all of them. */
export type PasswordRules = readonly PasswordRule[]

export interface PasswordRule {
  /** What it asks for, in words; may be empty. */
  readonly text: string
  /** Appended to the error message, and may be empty; `undefined`: the password conforms. */
  findFlaw(password: string, names: readonly string[]): string | undefined
  /** Looks in a file, after all rules are met. */
  search?(password: string): Promise<string | undefined>
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
    const expression = readExpression(term)
    size += expression.size
    if (size > steps) throw new TermProblem(term.at, 'the expressions are too large together')
    return toRule(toText(term.reason), (password) => expression.isMatch(toBytes(password)))
  })
}

/** A rule that says the same before and after it is broken. */
const toRule = (text: string, isMet: (password: string) => boolean): PasswordRule => ({
  text,
  findFlaw: (password) => (isMet(password) ? undefined : text),
})

function readExpression({ expression, at }: RuleTerm) {
  try {
    return createPasswordExpression(expression)
  } catch (error) {
    if (error instanceof RangeError) throw new TermProblem(at, toText(error.message))
    throw error
  }
}

/** A rule for the number of characters: Unicode code points, not bytes. */
export const createLengthRule = (min: number): PasswordRule =>
  toRule(`Use at least ${min} characters.`, (password) => [...password].length >= min)

const ADVICE = 'Choose another one, such as four words that have nothing to do with each other.'

/** Refuses passwords that attackers try first, and those in the file, if there is one. */
export const createKnownRule = (file: string): PasswordRule => ({
  text: 'Use no known password, no row of keys, and not your name.',
  findFlaw(password, names) {
    const flaw = findKnownFlaw(password, names)
    return flaw === undefined ? undefined : `${flaw} ${ADVICE}`
  },
  ...(file !== '' && {
    search: async (password) =>
      (await isInPasswordFile(file, password)) ? `It is among the passwords that have leaked. ${ADVICE}` : undefined,
  }),
})

const REFUSAL = 'Password does not conform to requirements.'

/** The name of the account, and its address if it has one: a password must not contain them. */
type Names = readonly string[]

/** The error message for a new password that breaks a rule; `undefined` if it breaks none. */
export async function checkPassword(rules: PasswordRules, password: string, names: Names): Promise<string | undefined> {
  const [flaw] = await listFlaws(rules, password, names)
  if (flaw === undefined) return undefined
  return flaw === '' ? REFUSAL : `${REFUSAL} ${flaw}`
}

/** A sentence for each rule that the password breaks. */
export const listPasswordProblems = async (rules: PasswordRules, password: string, names: Names) =>
  (await listFlaws(rules, password, names)).map((flaw) => flaw || REFUSAL)

/** Without those that need a search. */
export const listQuickProblems = (rules: PasswordRules, password: string, names: Names): readonly string[] =>
  Array.from(findFlaws(rules, password, names), (flaw) => flaw || REFUSAL)

/** What the rules say to users. Not every rule has a text. */
export const listRuleTexts = (rules: PasswordRules): readonly string[] =>
  rules.map(({ text }) => text).filter((text) => text !== '')

async function listFlaws(rules: PasswordRules, password: string, names: Names): Promise<readonly string[]> {
  const flaws = [...findFlaws(rules, password, names)]
  if (flaws.length > 0) return flaws
  const searched = await Promise.all(rules.map((rule) => rule.search?.(password)))
  return searched.filter((flaw) => flaw !== undefined)
}

/** Rules are not tried on a password that is not valid text. A flaw may be empty. */
function* findFlaws(rules: PasswordRules, password: string, names: Names): Generator<string, undefined> {
  const flaw = checkPasswordText(password)
  if (flaw !== undefined) return void (yield flaw)
  if (rules.length === 0) return
  const { passwordBytes } = PASSWORD_RULE_LIMITS
  if (Buffer.byteLength(password) > passwordBytes) return void (yield `It is longer than ${passwordBytes} bytes.`)
  for (const rule of rules) {
    const flaw = rule.findFlaw(password, names)
    if (flaw !== undefined) yield flaw
  }
}

// quirk: reference document 8.7, expressions see bytes, so both sides become text of one character a byte
const toBytes = (text: string): string => Buffer.from(text).toString('latin1')

const toText = (bytes: string): string => readUtf8(Buffer.from(bytes, 'latin1')) ?? bytes
