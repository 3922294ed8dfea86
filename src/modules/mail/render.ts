/** Renders a message as plain text and as HTML, from its row or from files of the operator. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../base/errors.ts'
import { MESSAGES, type MessageName, type MessageRow, PLACEHOLDERS, type Placeholder } from './messages.ts'

export interface Rendered {
  readonly subject: string
  readonly text: string
  readonly html: string
}

export type MessageValues = Readonly<Partial<Record<Placeholder, string>>>

/** `<message>.txt` begins with the line `Subject: …`; `<message>.html` is the other form of the same message. */
interface Template {
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** `folder`: that of the operator, whose files replace the texts of the table; empty: there is none. */
export async function renderMessage(name: MessageName, values: MessageValues, folder: string): Promise<Rendered> {
  const { subject, text, html } = await loadTemplate(name, folder)
  return {
    // one line, whatever a template or a value has
    subject: fill(subject, values, (value) => value).replace(/\p{C}+/gu, ' '),
    text: fill(text, values, (value) => value),
    html: fill(html, values, escapeHtml),
  }
}

export async function loadTemplate(name: MessageName, folder: string): Promise<Template> {
  const own = toTemplate(MESSAGES[name])
  const [text, html] = folder === '' ? [] : await Promise.all(['txt', 'html'].map((form) => load(folder, name, form)))
  const { head, body } = splitSubject(text)
  // the default HTML would say something else than the text of the operator
  return { subject: head ?? own.subject, text: body ?? own.text, html: html ?? (body ? toHtmlText(body) : own.html) }
}

async function load(folder: string, name: string, form: string): Promise<string | undefined> {
  try {
    return await readFile(join(folder, `${name}.${form}`), 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function splitSubject(text: string | undefined): { readonly head?: string | undefined; readonly body?: string } {
  if (text === undefined) return {}
  const [, head, body = ''] = /^(?:Subject: *([^\r\n]*)\r?\n(?:\r?\n)?)?(.*)$/is.exec(text) ?? []
  return { head, body }
}

/** Placeholders of the template that no message has. */
export const listUnknown = ({ subject, text, html }: Template): readonly string[] => {
  const known: ReadonlySet<string> = new Set(PLACEHOLDERS)
  const named = [...`${subject} ${text} ${html}`.matchAll(PLACEHOLDER)].map(([, placeholder = '']) => placeholder)
  return [...new Set(named.filter((placeholder) => !known.has(placeholder)))]
}

const PLACEHOLDER = /\{\{(\w+)\}\}/g

function fill(template: string, values: MessageValues, toText: (value: string) => string): string {
  const all = new Map(Object.entries(values))
  return template.replace(PLACEHOLDER, (_match, name: string) => toText(all.get(name) ?? ''))
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

function toTemplate({ subject, before, action, after }: MessageRow): Template {
  const link = action === undefined ? [] : [`${action}:\n{{link}}`]
  const button =
    action === undefined ? [] : [`<p style="margin:24px 0"><a class="button" href="{{link}}">${action}</a></p>`]
  const plain = after.map((paragraph) => `<p class="quiet">${paragraph}</p>`)
  const html = [...before.map((paragraph) => `<p>${paragraph}</p>`), ...button, ...plain]
  return { subject, text: `${[...before, ...link, ...after].join('\n\n')}\n`, html: toPage(html.join('\n')) }
}

/** A text of the operator as HTML: its lines as they are. */
const toHtmlText = (text: string): string =>
  toPage(
    `<p style="white-space:pre-line">${escapeHtml(text).replaceAll('{{link}}', '<a href="{{link}}">{{link}}</a>')}</p>`,
  )

/** Mail clients load no files and know only simple CSS. Those without a dark theme ignore the last rule. */
const toPage = (content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>{{product}}</title>
<style>
body { margin: 0; padding: 24px 16px; background: #f4f5f7; color: #1c2026; font: 16px/1.5 system-ui, sans-serif }
.card { max-width: 480px; margin: 0 auto; padding: 24px; background: #ffffff; border-radius: 8px; overflow-wrap: anywhere }
.card > :last-child { margin-bottom: 0 }
.product { font-size: 16px; margin: 0 0 16px }
.button { display: inline-block; padding: 10px 20px; background: #1f5fbf; color: #ffffff; border-radius: 6px; text-decoration: none; font-weight: 600 }
.quiet { color: #59616b; font-size: 14px }
@media (prefers-color-scheme: dark) {
  body { background: #14171b; color: #e6e8eb }
  .card { background: #1f2328 }
  .button { background: #2f6ed0 }
  .quiet { color: #a3abb5 }
}
</style>
</head>
<body>
<main class="card">
<h1 class="product">{{product}}</h1>
${content}
</main>
</body>
</html>
`
