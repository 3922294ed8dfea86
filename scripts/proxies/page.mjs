// The examples of docs/reference/gateway.md, with the addresses of a run put in.
import { readFileSync } from 'node:fs'

const PAGE = new URL('../../docs/reference/gateway.md', import.meta.url)

/** What stands in the page for Cardea and for the application. */
const GATE = '127.0.0.1:5984'
const APPLICATION = '127.0.0.1:3000'

/** Every block of a language there is in the section on proxies. */
export function listExamples(language) {
  const [, section = ''] = /^## Beside other proxies$(.*?)^## /ms.exec(readFileSync(PAGE, 'utf8')) ?? []
  return [...section.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(([, text]) => text)
}

/** The one example of a language. `replaced`: what else of it stands for something else in this run. */
export function readExample(language, { gate, application, replaced = {} }) {
  const [text, ...others] = listExamples(language)
  if (text === undefined || others.length > 0)
    throw new Error(`docs/reference/gateway.md has not one block of ${language}`)
  let placed = text
  for (const [said, meant] of Object.entries({ [GATE]: gate, [APPLICATION]: application, ...replaced })) {
    if (!placed.includes(said)) throw new Error(`the block of ${language} does not speak of ${said}`)
    placed = placed.replaceAll(said, meant)
  }
  return placed
}
