import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGES = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT })

/** Names of the headings of a page, as GitHub and npm write them into the address. */
function listAnchors(page: string): string[] {
  const headings = page.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/^#+ (.*)$/gm)
  return [...headings].map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function checkLink(page: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? join(ROOT, page) : join(ROOT, dirname(page), path)
  try {
    const isAnchorThere = anchor === undefined || listAnchors(readFileSync(target, 'utf8')).includes(anchor)
    return isAnchorThere ? undefined : `${page}: ${relative(ROOT, target)} has no heading #${anchor}`
  } catch {
    return `${page}: ${link} does not exist`
  }
}

test('every link between pages leads to a page and a heading', () => {
  const problems = PAGES.flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) =>
      checkLink(page, link),
    ),
  ).filter((problem) => problem !== undefined)
  assert.deepEqual(problems, [])
})

test('the package ships every page that README and the docs link to', () => {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const shipped = (path: string) =>
    path === 'README.md' ||
    path === 'LICENSE' ||
    files.some((name: string) => path === name || path.startsWith(`${name}/`))
  assert.deepEqual(
    PAGES.filter((page) => !shipped(page)),
    [],
  )
})

test('every guide links its words to the page that explains them', () => {
  const guides = PAGES.filter((page) => page.startsWith('docs/guides/'))
  const silent = guides.filter((page) => !readFileSync(join(ROOT, page), 'utf8').includes('](../concepts.md'))
  assert.deepEqual(silent, [])
})

const MAX_WORDS = 25_000

test(`the guides have at most ${MAX_WORDS} words`, () => {
  const guides = PAGES.filter((page) => page.startsWith('docs/guides/'))
  const words = guides.flatMap((page) => readFileSync(join(ROOT, page), 'utf8').split(/\s+/).filter(Boolean))
  assert.ok(words.length <= MAX_WORDS, `${words.length}: shorten a guide, or move facts to docs/reference`)
})
