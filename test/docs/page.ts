/** The fenced blocks of a page, in their order. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/process.ts'

export interface Block {
  /** What follows the three backticks: `sh`, `ini`, `js`, `text` … */
  readonly language: string
  /** The second word there: the file that the block is written to, or what it configures. */
  readonly name: string
  readonly text: string
  readonly line: number
  /** Why no test runs it: from `<!-- not run: reason -->` on the line before. */
  readonly notRun: string | undefined
}

export const PAGES: readonly string[] = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'test/README.md'].concat(
  globSync('docs/**/*.md', { cwd: ROOT }).sort(),
)

export const readPage = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const BLOCK = /^(?:<!-- not run: (?<reason>.+) -->\n\n?)?```(?<kind>.*)\n(?<text>[\s\S]*?)^```$/gm

export function listBlocks(page: string): Block[] {
  return [...page.matchAll(BLOCK)].map(({ index, groups = {} }) => {
    const [language = '', name = ''] = (groups['kind'] ?? '').split(' ')
    const line = page.slice(0, index).split('\n').length
    return { language, name, text: groups['text'] ?? '', line, notRun: groups['reason'] }
  })
}

export function findBlock(path: string, kind: string): string {
  const found = listBlocks(readPage(path)).find(({ language, name }) => `${language} ${name}`.trim() === kind)
  if (!found) throw new Error(`${path} has no block ${kind}`)
  return found.text
}

const COMMAND = /^ {4,}(\$ )?(cardea|npm|node|npx|curl|openssl|docker|bin\/cardea) /

/** Commands in indented text, which no test could tell from other text. */
export function listIndentedCommands(page: string): string[] {
  const outside = page.replaceAll(/^```[\s\S]*?^```$/gm, '')
  const paragraphs = outside.split(/\n\n+/)
  return paragraphs.flatMap((text, index) => {
    const isMarked = /<!-- not run: .+ -->$/.test(paragraphs[index - 1] ?? '')
    return isMarked ? [] : text.split('\n').filter((line) => COMMAND.test(line))
  })
}
