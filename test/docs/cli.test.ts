import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { adminCommand } from '../../src/cli/admin.ts'
import { backupCommand } from '../../src/cli/backup.ts'
import { configCommand } from '../../src/cli/config.ts'
import { EXIT } from '../../src/cli/context.ts'
import { hashCommand } from '../../src/cli/hash.ts'
import { restoreCommand } from '../../src/cli/restore.ts'
import { secretCommand } from '../../src/cli/secret.ts'
import { tokenCommand } from '../../src/cli/token.ts'
import { userCommand } from '../../src/cli/user.ts'
import { splitFlags } from '../../src/config/flags.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'

const PAGE = readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8')
const CONTEXT = { flags: splitFlags([], OPTION_TABLE), env: {}, cwd: '/', print: () => {}, printError: () => {} }

/** Described once for all commands. */
const COMMON = new Set(['--json', '--url', '--as', '--credentials', '--ca'])

const COMMANDS = [userCommand, adminCommand, configCommand, secretCommand, tokenCommand]

/** The form of a command, which may continue on indented lines. */
function findForm(name: string): string {
  const lines = PAGE.split('\n')
  const from = lines.findIndex((text) => `${text} `.startsWith(`    ${name} `))
  if (from < 0) return ''
  const next = lines.findIndex((text, index) => index > from && !text.startsWith('     '))
  return lines.slice(from, next).join(' ')
}

for (const command of COMMANDS.map((create) => create(CONTEXT))) {
  for (const sub of command.commands) {
    const name = `cardea ${command.name()} ${sub.name()}`
    test(`the page names ${name}, and every option of it`, () => {
      const line = findForm(name)
      assert.notEqual(line, '')
      for (const { long } of sub.options)
        assert.ok((COMMON.has(long ?? '') ? PAGE : line).includes(long ?? '-'), long ?? '')
    })
  }
}

for (const command of [hashCommand, backupCommand, restoreCommand].map((create) => create(CONTEXT))) {
  test(`the page names ${command.name()}, and every option of it`, () => {
    const form = new RegExp(`^ {4}cardea ${command.name()} .*\\[--.*$`, 'm')
    const line = form.exec(PAGE)?.[0] ?? ''
    for (const { long } of command.options) {
      assert.ok((COMMON.has(long ?? '') ? PAGE : line).includes(long ?? '-'), long ?? '')
    }
  })
}

test('the page names every exit code', () => {
  for (const code of [0, ...Object.values(EXIT)]) assert.match(PAGE, new RegExp(`^\\| ${code} \\| `, 'm'))
})
