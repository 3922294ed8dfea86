import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { it } from 'node:test'

it('a sleep that was woken in advance keeps a process running that has nothing else to do', () => {
  const program = `
    import { createWakeableSleep } from './src/base/sleep.ts'
    const pause = createWakeableSleep()
    pause.beginWork()
    pause.wake()
    await pause.sleep(60_000)
    console.log('awake')`
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  })
  assert.deepEqual([status, stdout], [0, 'awake\n'])
})
