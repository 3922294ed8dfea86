import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { test } from 'node:test'
import { ExitError } from '../../src/cli/context.ts'
import { readTypedSecret } from '../../src/cli/passwords.ts'

const ASKED = { what: 'Password of ann', fromInput: false, flag: '--password-stdin', isNew: true }

/** A terminal at which each answer is typed once its question is there; where there is none, it goes away. */
function createTerminal(answers: readonly string[]) {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input })
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 })
  let shown = ''
  let asked = 0
  const questions = ['Password of ann', 'Password of ann, again']
  output.on('data', (chunk) => {
    shown += chunk
    const question = questions[asked]
    if (question === undefined || !shown.includes(question)) return
    const answer = answers[asked]
    asked += 1
    setImmediate(() => (answer === undefined ? input.end() : input.write(answer)))
  })
  return { terminal: { input, output }, shown: () => shown }
}

test('prompts for a new password twice and shows neither text nor length', async () => {
  const { terminal, shown } = createTerminal(['opensesame\r', 'opensesame\r'])
  assert.equal(await readTypedSecret(ASKED, terminal), 'opensesame')
  assert.match(shown(), /again/)
  assert.doesNotMatch(shown(), /opens|sesame|[•▪*]{2}/)
})

test('rejects two that differ', async () => {
  const { terminal } = createTerminal(['one\r', 'two\r'])
  await assert.rejects(readTypedSecret(ASKED, terminal), { exitCode: 1, message: /two passwords differ/ })
})

test('prompts for an existing password once', async () => {
  const { terminal, shown } = createTerminal(['known\r'])
  assert.equal(await readTypedSecret({ ...ASKED, isNew: false }, terminal), 'known')
  assert.doesNotMatch(shown(), /again|known/)
})

for (const [who, answers] of [
  ['interrupts', ['\x03']],
  ['end of input', ['\x04']],
  ['end of input at the second prompt', ['one\r', '\x04']],
  ['end of input within an answer', ['on\x04']],
  ['a closed terminal', []],
] as const) {
  test(`${who} cancels the command`, async () => {
    const { terminal } = createTerminal(answers)
    await assert.rejects(readTypedSecret(ASKED, terminal), { exitCode: 1, message: 'Given up: nothing was changed.' })
  })
}

test('names the flag if there is no terminal', async () => {
  const terminal = { input: Readable.from([]), output: new PassThrough() }
  await assert.rejects(readTypedSecret(ASKED, terminal), { exitCode: 2, message: /--password-stdin/ })
})

const INPUTS: readonly { readonly name: string; readonly given: string | Buffer; readonly secret?: string }[] = [
  { name: 'removes one line feed', given: 'pass\n', secret: 'pass' },
  { name: 'removes one CR LF', given: 'pass\r\n', secret: 'pass' },
  { name: 'keeps a second line feed', given: 'pass\n\n', secret: 'pass\n' },
  { name: 'keeps blanks', given: ' pass ', secret: ' pass ' },
  { name: 'rejects empty input', given: '' },
  { name: 'rejects an empty line', given: '\n' },
  { name: 'rejects bytes that are not UTF-8', given: Buffer.from([0xff, 0xfe]) },
  { name: 'rejects too many bytes', given: 'x'.repeat(70_000) },
]

for (const { name, given, secret } of INPUTS) {
  test(`standard input: ${name}`, async () => {
    const terminal = { input: Readable.from([Buffer.from(given)]), output: new PassThrough() }
    const reading = readTypedSecret({ ...ASKED, fromInput: true }, terminal)
    if (secret === undefined)
      await assert.rejects(reading, (error) => error instanceof ExitError && error.exitCode === 1)
    else assert.equal(await reading, secret)
  })
}
