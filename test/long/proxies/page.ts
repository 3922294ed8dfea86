// The examples of docs/guides/protect-an-application.md, and of the file it names, with the addresses of a run put in.
import { readFileSync } from 'node:fs'

const PAGE = new URL('../../../docs/guides/protect-an-application.md', import.meta.url)
const HAPROXY = new URL('../../../deploy/haproxy/haproxy.cfg', import.meta.url)

/** The addresses of Cardea and of the application on the page. */
const GATE = '127.0.0.1:5984'
const APPLICATION = '127.0.0.1:3000'

/** Every block of a language on the page, which links to the file for HAProxy. */
function listExamples(language: string): string[] {
  if (language === 'haproxy') return [readFileSync(HAPROXY, 'utf8')]
  const blocks = readFileSync(PAGE, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))
  return [...blocks].map(([, text = '']) => text)
}

/** The only example of a language, with texts of the page replaced by their values in this run. */
export function readBlock(language: string, replaced: Readonly<Record<string, string>> = {}) {
  const [text, ...others] = listExamples(language)
  if (text === undefined || others.length > 0)
    throw new Error(`docs/guides/protect-an-application.md must have exactly one block of ${language}`)
  let placed = text
  for (const [before, after] of Object.entries(replaced)) {
    if (!placed.includes(before)) throw new Error(`the block of ${language} does not contain ${before}`)
    placed = placed.replaceAll(before, after)
  }
  return placed
}

/** The same for a block with both addresses. */
export const readExample = (language, { gate, application, replaced = {} }) =>
  readBlock(language, { [GATE]: gate, [APPLICATION]: application, ...replaced })
