import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { test } from 'node:test'

const SECRET = 'correct horse'

/** Logs an error in a child process, because the log writes to standard error. */
function logError(expression: string): { line: string; error: Record<string, unknown> } {
  const script = `
    import { createLog } from ${JSON.stringify(import.meta.resolve('../../src/observe/log.ts'))}
    import { Refusal } from ${JSON.stringify(import.meta.resolve('../../src/base/errors.ts'))}
    const SECRET = ${JSON.stringify(SECRET)}
    const thrown = (run) => { try { run() } catch (error) { return error } }
    createLog('info', 'json').error('failed', { error: ${expression} })`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
  return { line: stderr, error: JSON.parse(stderr).error }
}

const WITHOUT_MESSAGE = [
  { name: 'an error of a library', expression: 'new Error(SECRET)', type: 'Error' },
  { name: 'a parse error that quotes its input', expression: 'thrown(() => JSON.parse(SECRET))', type: 'SyntaxError' },
  { name: 'a TypeError of Node', expression: 'thrown(() => Buffer.from("x", SECRET))', type: 'TypeError' },
  { name: 'a message with lines that look like stack frames', expression: 'new Error("a\\n    at " + SECRET)' },
  { name: 'a message that was changed later', expression: 'Object.assign(new Error(""), { message: SECRET })' },
  { name: 'a value that is not an error', expression: 'SECRET', type: 'string' },
]

for (const { name, expression, type } of WITHOUT_MESSAGE)
  test(`does not log the message of ${name}`, () => {
    const { line, error } = logError(expression)
    assert.doesNotMatch(line, /correct horse/)
    assert.equal(error['message'], undefined)
    if (type) assert.equal(error['type'], type)
  })

test('logs the code and the stack frames of an error of a library', () => {
  const { error } = logError('Object.assign(new Error(SECRET), { code: "E_TRIED" })')
  assert.equal(error['code'], 'E_TRIED')
  assert.match(String(error['stack']), /^ {4}at /)
})

test('logs the message and the detail of a Refusal', () => {
  const { error } = logError('new Refusal("store_unavailable", { detail: "timeout after 5 s" })')
  assert.equal(error['code'], 'store_unavailable')
  assert.equal(error['message'], 'The store cannot be used now.')
  assert.equal(error['detail'], 'timeout after 5 s')
})

test('logs the message of a programming error', () => {
  const { error } = logError('thrown(() => undefined.member)')
  assert.equal(error['type'], 'TypeError')
  assert.match(String(error['message']), /member/)
})

const FULL = '/dev/full'

for (const format of ['json', 'text'])
  test(`a full disk does not end the process: ${format}`, { skip: !existsSync(FULL) && `there is no ${FULL}` }, (t) => {
    const full = openSync(FULL, 'w')
    t.after(() => closeSync(full))
    const script = `
      import { createLog } from ${JSON.stringify(import.meta.resolve('../../src/observe/log.ts'))}
      const log = createLog('info', '${format}')
      log.info('one')
      setImmediate(() => {
        log.info('two')
        console.log('runs')
      })`
    const args = ['--input-type=module', '--eval', script]
    const { stdout, status } = spawnSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', full] })
    assert.deepEqual([stdout, status], ['runs\n', 0])
  })

test('a slow reader does not block the process, and gets what was kept and how many lines were lost', async (t) => {
  const count = 20_000
  const script = `
    import { createLog } from ${JSON.stringify(import.meta.resolve('../../src/observe/log.ts'))}
    process.stderr // from now on, writing to a full pipe fails
    const log = createLog('info', 'json')
    for (let number = 0; number < ${count}; number++) log.info('é'.repeat(100), { number })
    console.log('runs')
    process.stdin.resume()`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const numbers: number[] = []
  for await (const line of createInterface(child.stderr)) {
    const { number, lines } = JSON.parse(line)
    if (number !== undefined) numbers.push(number)
    else {
      assert.equal(lines, count - numbers.length)
      child.stdin.end()
    }
  }
  assert.deepEqual(numbers, [...Array(numbers.length).keys()])
  assert.ok(numbers.length < count)
})
