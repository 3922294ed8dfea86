import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { it } from 'node:test'
import { spaceOut } from '../../src/base/sleep.ts'

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

it('calls that follow each other become one at the end of the gap, and none is lost', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let count = 0
  const call = spaceOut(() => {
    count += 1
  }, 100)
  const counts = [1, 2, 3].map(() => {
    call()
    return count
  })
  t.mock.timers.tick(99)
  counts.push(count)
  t.mock.timers.tick(1)
  counts.push(count)
  call()
  t.mock.timers.tick(100)
  counts.push(count)
  t.mock.timers.tick(100)
  call()
  counts.push(count)
  assert.deepEqual(counts, [1, 1, 1, 1, 2, 3, 4])
})
