import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createProgress, renderDuration } from '../../../src/cli/transfer/progress.ts'

function createScreen(isTTY: boolean, columns = 100) {
  const clock = { now: 0 }
  const texts: string[] = []
  const screen = { isTTY, columns, write: (text: string) => texts.push(text) }
  return { clock, texts, progress: createProgress('importing', screen, () => clock.now) }
}

describe('progress', () => {
  it('on a terminal is one line with rate and time left, redrawn in place', () => {
    const { clock, texts, progress } = createScreen(true)
    clock.now = 1000
    progress.update({ done: 25, total: 100, records: 5000 })
    assert.deepEqual(texts, ['\r\x1b[Kimporting  [######------------------]  25 %  5,000 records  5,000/s  3 s left'])
  })

  it('on a terminal is redrawn at most ten times a second', () => {
    const { clock, texts, progress } = createScreen(true)
    for (clock.now = 0; clock.now < 1000; clock.now += 10) progress.update({ done: 1, total: 2, records: 1 })
    assert.equal(texts.length, 10)
  })

  it('on a narrow terminal stays on its line', () => {
    const { clock, texts, progress } = createScreen(true, 30)
    clock.now = 1000
    progress.update({ done: 25, total: 100, records: 5000 })
    assert.equal(texts[0]?.replace('\r\x1b[K', '').length, 29)
  })

  it('on a terminal is removed before other lines', () => {
    const { texts, progress } = createScreen(true)
    progress.clear()
    progress.update({ done: 1, total: 2, records: 1 })
    progress.clear()
    progress.clear()
    assert.deepEqual(texts.slice(1), ['\r\x1b[K'])
  })

  it('elsewhere is a plain line every few seconds', () => {
    const { clock, texts, progress } = createScreen(false)
    for (clock.now = 0; clock.now <= 10_000; clock.now += 100) {
      progress.update({ done: clock.now, total: 20_000, records: clock.now })
    }
    progress.clear()
    assert.deepEqual(texts, [
      'importing  25 %  5,000 records  1,000/s  15 s left\n',
      'importing  50 %  10,000 records  1,000/s  10 s left\n',
    ])
  })

  it('without a known total shows neither percentage nor time left', () => {
    const { clock, texts, progress } = createScreen(true)
    clock.now = 2000
    progress.update({ done: 25, total: undefined, records: 100 })
    assert.deepEqual(texts, ['\r\x1b[Kimporting  100 records  50/s'])
  })

  const DURATIONS: readonly [ms: number, text: string][] = [
    [0, '0 s'],
    [1, '1 s'],
    [59_000, '59 s'],
    [61_000, '1 min 1 s'],
    [3_660_000, '1 h 1 min'],
  ]
  for (const [ms, text] of DURATIONS) it(`renders ${ms} ms as ${text}`, () => assert.equal(renderDuration(ms), text))
})
