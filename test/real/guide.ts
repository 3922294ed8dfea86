/** The fenced blocks of docs/guides/couchdb.md, in their order. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

export interface Block {
  /** What follows the three backticks: the language, and for ini whose file it is. */
  readonly kind: string
  readonly text: string
}

const PAGE = readFileSync(new URL('../../docs/guides/couchdb.md', import.meta.url), 'utf8')

export const GUIDE: readonly Block[] = [...PAGE.matchAll(/^```(\S+(?: \S+)?)\n([\s\S]*?)^```$/gm)].map(
  ([, kind = '', text = '']) => ({ kind, text }),
)

export function findBlock(kind: string): string {
  const block = GUIDE.find((candidate) => candidate.kind === kind)
  return block?.text ?? assert.fail(`the guide has no block ${kind}`)
}
