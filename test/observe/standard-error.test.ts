import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { createStandardError } from '../../src/observe/standard-error.ts'

/** An output that fails with `code`, if it is set, and otherwise takes `space` bytes. */
function openOutput(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const file = { code: '', space: Number.POSITIVE_INFINITY, attempts: 0, bytes: Buffer.alloc(0) }
  const write = (line: string | Buffer): number => {
    file.attempts++
    if (file.code || file.space === 0) throw Object.assign(new Error('failed'), { code: file.code || 'EAGAIN' })
    const taken = Buffer.from(line).subarray(0, file.space)
    file.space -= taken.length
    file.bytes = Buffer.concat([file.bytes, taken])
    return taken.length
  }
  const output = createStandardError((lines) => output.write(`lost ${lines}\n`), write)
  return { file, output, lines: () => file.bytes.toString().split('\n').slice(0, -1) }
}

const SIZE = 1024
const toLine = (text: string) => `${text.padEnd(SIZE - 1)}\n`

test('after a full disk, the kept lines are written, then how many were lost, then new lines', (t) => {
  const { file, output, lines } = openOutput(t)
  const listeners = process.listenerCount('exit')
  output.write('before\n')
  file.code = 'ENOSPC'
  for (let number = 0; number < 1500; number++) output.write(toLine(`kept ${number}`))
  t.mock.timers.tick(3_600_000)
  file.code = ''
  t.mock.timers.tick(1000)
  output.write('after\n')
  file.code = 'ENOSPC'
  output.write('full again\n')
  file.code = ''
  t.mock.timers.tick(1000)
  const kept = Array.from({ length: 1024 }, (_, number) => `kept ${number}`)
  assert.deepEqual(
    lines().map((line) => line.trimEnd()),
    ['before', ...kept, 'lost 476', 'after', 'full again'],
  )
  assert.equal(process.listenerCount('exit'), listeners)
})

for (const code of ['ENOSPC', 'EPIPE', 'EIO'])
  test(`${code}: however many lines, there is one attempt a second`, (t) => {
    const { file, output } = openOutput(t)
    file.code = code
    for (let number = 0; number < 5000; number++) output.write(toLine('flood'))
    assert.equal(file.attempts, 1)
    for (let second = 0; second < 5; second++) t.mock.timers.tick(1000)
    assert.equal(file.attempts, 6)
  })

test('a line that is written in parts is neither cut nor repeated', (t) => {
  const { file, output, lines } = openOutput(t)
  const given = ['first é', 'second €', 'third', 'fourth']
  file.space = 7 // ends within the é
  for (const line of given) output.write(`${line}\n`)
  for (let part = 0; part < 20; part++) {
    file.space = 2
    t.mock.timers.tick(10)
  }
  assert.deepEqual(lines(), given)
})

test('a line that is larger than what is kept is written', (t) => {
  const { output, lines } = openOutput(t)
  output.write(`${'x'.repeat(2_000_000)}\n`)
  assert.equal(lines()[0]?.length, 2_000_000)
})

test('kept lines are tried once more when the process ends', () => {
  const script = `
    import { writeSync } from 'node:fs'
    import { createStandardError } from ${JSON.stringify(import.meta.resolve('../../src/observe/standard-error.ts'))}
    let isFull = true
    const write = (line) => {
      if (isFull) throw Object.assign(new Error(), { code: 'ENOSPC' })
      return writeSync(2, line)
    }
    createStandardError(() => {}, write).write('kept\\n')
    isFull = false`
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
  assert.equal(stderr, 'kept\n')
})
