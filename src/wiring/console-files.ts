import { readFileSync } from 'node:fs'
import type { ConsoleFiles } from '../dialects/admin-api/page.ts'

const read = (name: string): string => readFileSync(new URL(`../../console/${name}`, import.meta.url), 'utf8')

/** The files of the page at /_cardea/, beside the sources and beside the compiled package. */
export const CONSOLE_FILES: ConsoleFiles = Object.freeze({
  page: read('index.html'),
  style: read('console.css'),
  script: read('console.js'),
})
