import assert from 'node:assert/strict'

/** The secrets that must not appear in the output of a program, each with a description. */
export class Secrets {
  readonly #known = new Map<string, string>()

  /** Remembers a secret and returns it. */
  note(what: string, text = `${what.replaceAll(' ', '-')}-${this.#known.size}-a1b2c3`): string {
    assert.ok(text.length > 8, `${what} is too short to be found`)
    this.#known.set(what, text)
    return text
  }

  /** What the output contains, and in which form. */
  find(output: string): readonly string[] {
    return [...this.#known].flatMap(([what, text]) =>
      listForms(text).flatMap(([form, written]) => (output.includes(written) ? [`${what} as ${form}`] : [])),
    )
  }
}

/** The forms in which a program might write a text without meaning to. */
const listForms = (text: string): readonly (readonly [form: string, written: string])[] => [
  ['it is', text],
  ['JSON', JSON.stringify(text).slice(1, -1)],
  ['base64', Buffer.from(text).toString('base64').replace(/=+$/, '')],
  ['base64url', Buffer.from(text).toString('base64url')],
  ['hexadecimal', Buffer.from(text).toString('hex')],
  ['a part of a URL', encodeURIComponent(text)],
]
