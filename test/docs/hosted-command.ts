/**
 * `cardea` for the shell blocks of a page, run by the process that test/support/commands.ts shares out: loading the
 * program takes most of the time of a command.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { runCommand } from '../support/commands.ts'
import type { Scope } from '../support/scope.ts'

/** The request is a folder with what the command is given; the response is the exit code, after its output is there. */
const renderScript = (calls: string): string => `#!/bin/sh
call=$(mktemp -d '${calls}/XXXXXX')
printf '%s\\0' "$@" > "$call/args"
env -0 > "$call/env"
pwd > "$call/cwd"
cat > "$call/input"
code=$(curl -q -sS --unix-socket '${calls}/socket' --data-binary "$call" http://localhost/)
cat "$call/stdout"
cat "$call/stderr" >&2
exit "$code"
`

const readList = (file: string): string[] => readFileSync(file, 'utf8').split('\0').slice(0, -1)

const readEnvironment = (file: string): Record<string, string> =>
  Object.fromEntries(
    readList(file).map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )

async function answer(request: IncomingMessage): Promise<number | null> {
  const call = await text(request)
  const result = await runCommand(readList(join(call, 'args')), {
    cwd: readFileSync(join(call, 'cwd'), 'utf8').trimEnd(),
    env: readEnvironment(join(call, 'env')),
    input: readFileSync(join(call, 'input'), 'utf8'),
  })
  writeFileSync(join(call, 'stdout'), result.stdout)
  writeFileSync(join(call, 'stderr'), result.stderr)
  return result.code
}

/** Writes the command to `file`. */
export async function installHostedCommand(scope: Scope, file: string): Promise<void> {
  const calls = `${file}-calls`
  mkdirSync(calls)
  writeFileSync(file, renderScript(calls), { mode: 0o755 })
  const server = createServer((request, response) => {
    void answer(request).then(
      (code) => response.end(String(code)),
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    )
  })
  await new Promise<void>((resolve) => server.listen(join(calls, 'socket'), resolve))
  scope.after(() => server.close())
}
