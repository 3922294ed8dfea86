import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { V8_FLAGS } from '../../../src/base/node-internals/v8-flags.ts'

test('Node knows every flag that the server sets', async () => {
  // Node ends with an error for an option that neither it nor V8 knows
  await promisify(execFile)(process.execPath, [...V8_FLAGS, '--eval', ''])
})
